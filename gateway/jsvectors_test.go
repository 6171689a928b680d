package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
	"github.com/tidemark/tidemark/projections"
)

// jsVector is a client's frames, and its expected result.
type jsVector struct {
	Name     string                    `json:"name"`
	User     string                    `json:"user"`
	Frames   []json.RawMessage         `json:"frames"`
	Channels map[string]map[string]any `json:"channels"`
	Threads  map[string]map[string]any `json:"threads"` // channel, NUL, thread
	At       []jsSums                  `json:"at"`
	Marks    []jsMarks                 `json:"marks"`
	// Large lists the channels whose counts a gateway derives: it may not have their first
	// messages, and counts under an open time target may lag.
	Large []string `json:"large"`
	Open  []string `json:"open"`
	Inbox bool     `json:"inbox"` // the frames begin with a snapshot
}

// jsSums are totals at a time, over all channels and by label.
type jsSums struct {
	Now     int64                     `json:"now"`
	Totals  map[string]any            `json:"totals"`
	ByLabel map[string]map[string]any `json:"by_label"`
}

// jsMarks is the expected result of markAllRead: for each channel the seq up to which it reads, 0
// for a flag that is removed, and the epoch.
type jsMarks struct {
	Label    string               `json:"label"`
	Threads  bool                 `json:"threads"`
	Channels map[string][2]uint32 `json:"channels"`
}

// TestRandomVectorsOfTheJavaScriptClient: a gateway makes frames from a partition's output for
// random scripts, with all of DESIGN §4.7, and the clients of JavaScript and Python take them.
// Their state of each channel and thread equals the model's. So do the totals and those of each
// label, before, at and after each time at which a level ends, and the reads of the JavaScript
// client when it marks everything as read.
func TestRandomVectorsOfTheJavaScriptClient(t *testing.T) {
	var vectors []jsVector
	name := t.Name()
	random.Scripts(t, 500, random.DrawMore(random.Folded()...), func(t *rapid.T, c *random.Case) {
		c.Settings.FanoutLimit = 1000 // deltas have every count, and nothing has to be asked for
		vectors = append(vectors, named(name, c, vectorsOf(t, c))...)
	})
	if len(vectors) < 100 {
		t.Fatalf("only %d users", len(vectors))
	}
	compareInNode(t, vectors)
	compareInPython(t, vectors)
}

// named gives vectors the name of their script, which repeats them.
func named(test string, c *random.Case, vectors []jsVector) []jsVector {
	for i := range vectors {
		vectors[i].Name = fmt.Sprintf("seed %d of %s, user %s", c.Seed, test, vectors[i].Name)
	}
	return vectors
}

// compareInNode compares vectors with the JavaScript client.
func compareInNode(t *testing.T, vectors []jsVector) {
	t.Helper()
	readAll(t, "../clients/js/*/*.js")
	compared(t, "JavaScript", vectors, testkit.Program(t, "node"), "--no-warnings", "../clients/js/vectors/compare.js")
}

// compareInPython compares vectors with the Python client.
func compareInPython(t *testing.T, vectors []jsVector) {
	t.Helper()
	readAll(t, "../clients/python/*/*/*.py", "../clients/python/vectors/*.py")
	if testing.Short() {
		t.Skip("needs Python, which -short leaves out")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	python, err := servers.ClientPython(ctx)
	if err != nil {
		t.Fatal(err)
	}
	compared(t, "Python", vectors, python, "-B", "../clients/python/vectors/compare.py")
}

// compared runs a client's program with vectors on its standard input. If the client disagrees with
// one, the error names the client and the seed, and a file keeps the vector.
func compared(t *testing.T, client string, vectors []jsVector, program string, args ...string) {
	t.Helper()
	data, err := json.Marshal(vectors)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the program is one of the tests'
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("%d vectors\n", len(vectors)); err != nil || !strings.HasPrefix(string(out), want) {
		file, n := keepVectors(t, vectors, string(out))
		t.Errorf("the %s client differs: %v\n%.6000s\nwant %s%d of the vectors stays in %s: the standard input of %s %s",
			client, err, out, want, n, file, program, strings.Join(args, " "))
	}
}

// keepVectors writes the vector that a client's output names, or all vectors if it names none, into
// a file that outlasts the test. It returns how many it wrote.
func keepVectors(t *testing.T, vectors []jsVector, out string) (file string, n int) {
	t.Helper()
	if i := slices.IndexFunc(vectors, func(v jsVector) bool { return strings.Contains(out, v.Name+": ") }); i >= 0 {
		vectors = vectors[i : i+1]
	}
	data, err := json.Marshal(vectors)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.CreateTemp("", "tidemark-vectors-*.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name(), len(vectors)
}

// readAll reads files, so that go test runs this again when one changes.
func readAll(t *testing.T, patterns ...string) {
	t.Helper()
	var files []string
	for _, pattern := range patterns {
		some, err := filepath.Glob(pattern)
		if err != nil || len(some) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		files = append(files, some...)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files %s", len(files), patterns)
	}
	for _, file := range files {
		if _, err := os.ReadFile(file); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
}

// vectorsOf folds a script, and sends the results to a device of each user.
func vectorsOf(t *rapid.T, c *random.Case) (list []jsVector) {
	p, err := projections.Open("store", projections.Identity{Partitions: 1, Settings: c.Settings}, projections.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	m, g := model.New(c.Settings), bare()
	g.cfg.Now = func() time.Time { return time.UnixMilli(script.Start) }
	devices, records := map[string]*conn{}, map[string]events.ChannelRecord{}
	order := c.Log.Interleave(func(left []events.Input) int { return rapid.IntRange(0, len(left)-1).Draw(t, "order") })
	for i, r := range order {
		r.Fold(p)
		r.AddTo(m)
		if i == len(order)-1 || rapid.IntRange(0, 3).Draw(t, "drained") == 0 {
			g.takeOutputs(t, p, devices, records)
		}
	}
	for _, user := range slices.Sorted(maps.Keys(devices)) {
		list = append(list, vectorOf(t, &c.Log, m, devices[user]))
	}
	return list
}

// takeOutputs passes a partition's output to a gateway. Each user gets a device with their first
// delta.
func (g *Gateway) takeOutputs(t *rapid.T, p *projections.Partition, devices map[string]*conn, records map[string]events.ChannelRecord) {
	h := g.hubs.list[0]
	var out projections.Deltas
	p.Drain(&out, true)
	for _, r := range out.Records {
		value := slices.Clone(r.Value)
		switch r.Topic {
		case projections.OutUnread:
			var d events.UnreadDelta
			if err := events.DecodeUnreadDelta(value, &d); err != nil {
				t.Fatal(err)
			}
			user := string(d.UserID)
			if devices[user] == nil {
				u := g.someone(user)
				u.threads = map[scope]*thread{}
				c := &conn{g: g, load: g.load, Conn: wire.Unconnected(context.Background(), g.wireSettings(), "device"), user: u}
				u.conns = append(u.conns, c)
				devices[user] = c
			}
			u := devices[user].user
			h.mu.With(func() { g.applyDelta(u, &d) })
		case projections.OutChannels:
			var record events.ChannelRecord
			if err := events.DecodeChannelRecord(value, &record); err != nil {
				t.Fatal(err)
			}
			records[string(record.ChannelID)] = record
		}
	}
	for _, id := range slices.Sorted(maps.Keys(records)) { // also for a user who has just become a member
		record := records[id]
		h.mu.With(func() { g.applyChannel(h, &record) })
	}
}

func vectorOf(t *rapid.T, l *script.Log, m *model.Model, c *conn) jsVector {
	v := jsVector{User: c.user.id, Name: fmt.Sprintf("%s, %d records", c.user.id, l.Len()), Channels: map[string]map[string]any{}, Threads: map[string]map[string]any{}}
	for _, it := range c.Waiting() {
		v.Frames = append(v.Frames, slices.Clone(it.Bytes()))
	}
	times := []int64{script.Start}
	for _, r := range l[events.Reads] {
		if until := r.Read.Until; until > script.Start {
			times = append(times, until-1, until, until+1)
		}
	}
	right := listedBy(t, c.user, checker.Right([]*model.Model{m}, v.User, script.Start, false))
	for id, is := range right.Channels {
		v.Channels[id] = jsChannel(&is)
	}
	for id, is := range right.Threads {
		if is.Listed {
			v.Threads[id.Channel+"\x00"+id.Thread] = map[string]any{
				"unread": is.Unread, "mentions": is.Mentions, "direct_mentions": is.DirectMentions, "first_unread": is.FirstUnread.Seq, "read_epoch": is.ReadEpoch,
			}
		}
	}
	for _, now := range times {
		of := listedBy(t, c.user, checker.Right([]*model.Model{m}, v.User, now, false))
		at := jsSums{Now: now, Totals: jsTotals(of, ""), ByLabel: map[string]map[string]any{}}
		for label := range of.ByLabel {
			at.ByLabel[label] = jsTotals(of, label)
		}
		v.At = append(v.At, at)
	}
	for _, label := range append(slices.Sorted(maps.Keys(right.ByLabel)), "") {
		v.Marks = append(v.Marks, marksOf(right, label, false), marksOf(right, label, true))
	}
	return v
}

// listedBy replaces the listed threads of an answer with those that the gateway lists: an old
// thread leaves with its next delta.
func listedBy(t *rapid.T, u *user, a *checker.Answer) *checker.Answer {
	for id, is := range a.Threads {
		th := u.threads[scope{id.Channel, id.Thread}]
		has := th != nil && th.view.Member // the gateway keeps it after it expired, too
		if is.Listed && !has {
			t.Fatalf("%s: thread %s of %s is not listed", u.id, id.Thread, id.Channel)
		}
		is.Listed = has
		a.Threads[id] = is
	}
	return a
}

func jsChannel(c *checker.Channel) map[string]any {
	var until, after any
	if c.Levels.Until != 0 {
		until, after = c.Levels.Until, events.LevelNames[c.Levels.After]
	}
	list := func(labels []string) []string { return append([]string{}, labels...) }
	return map[string]any{
		"unread": c.Unread, "mentions": c.Mentions, "direct_mentions": c.DirectMentions, "offline_unread": c.OfflineUnread,
		"first_unread": c.FirstUnread.Seq, "first_mention": c.FirstMention.Seq, "latest": c.Latest.Seq, "read_epoch": c.ReadEpoch,
		"level": events.LevelNames[c.Levels.Level], "until": until, "level_after": after, "ignore_mention_all": c.IgnoreAll,
		"flagged": c.Flagged, "archived": c.Archived, "keep": c.Keep, "labels": list(c.Labels), "own_labels": list(c.OwnLabels),
	}
}

func jsTotals(a *checker.Answer, label string) map[string]any {
	s, _ := a.Sum(label)
	return map[string]any{
		"unread": s.Unread, "mentions": s.Mentions, "unread_channels": s.UnreadChannels, "thread_unread": s.ThreadUnread,
		"thread_mentions": s.ThreadMentions, "unread_threads": s.UnreadThreads, "badge": s.Badge, "flagged": s.Flagged,
		"archived": map[string]any{"unread_channels": s.ArchivedChannels, "mentions": s.ArchivedMentions},
	}
}

// marksOf returns the reads of MarkAllRead, of threads only the listed ones.
func marksOf(a *checker.Answer, label string, threads bool) jsMarks {
	m := jsMarks{Label: label, Threads: threads, Channels: map[string][2]uint32{}}
	for id, c := range a.Channels {
		to, unread := max(c.Latest.Seq, c.LastRead.Seq), c.Unread > 0 || c.Flagged
		if c.Latest.Seq == 0 && c.Unread > 0 { // all of them were seeded
			to = max(to, c.FirstUnread.Seq+c.Unread-1)
		}
		for at, th := range a.Threads {
			if threads && th.Listed && at.Channel == id {
				to, unread = max(to, th.Latest.Seq), unread || th.Unread > 0
			}
		}
		if unread && (label == "" || slices.Contains(c.Labels, label)) {
			m.Channels[id] = [2]uint32{to, c.ReadEpoch}
		}
	}
	return m
}
