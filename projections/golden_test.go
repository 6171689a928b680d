package projections_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/model"
	"github.com/tidemark/tidemark/internal/script"
	"github.com/tidemark/tidemark/projections"
)

// TestGolden runs the stories of testdata. They are the documentation of the rules: `go test -run Golden -rewrite` writes
// what they print, after which the difference is for a person to judge.
//
// A file has one command, story, with the arguments fanout-limit, send-marks-read and index-retention. Its lines are
// those of package script, folded in the order of the file, and:
//
//	? a            what a user sees; also "? a #general"
//	? #general     a channel
//	? explain a    why a number is what it is
//	? inbox a      the user's channels and the total
//	? stamp a
//	? deltas       what was emitted since the last such line, drained after each record
//	restart        closes the partition after a cut, and opens it again
//	crash          closes the partition without a cut, opens it again, and folds what was lost
//
// Whatever a story asks for, at each of these lines and at its end the fold in the order of the file, the fold in three
// random interleavings of the topics, and the model must agree in everything.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runGolden(t, file) })
	}
}

// TestSemanticsExamples: what docs/semantics.md quotes is what the stories say.
func TestSemanticsExamples(t *testing.T) {
	doc, err := os.ReadFile("../docs/semantics.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var stories []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stories = append(stories, string(text)+"\n")
	}
	quotes := strings.Split(string(doc), "```story\n")[1:]
	if len(quotes) < 40 {
		t.Errorf("docs/semantics.md has only %d examples", len(quotes))
	}
	for _, quote := range quotes {
		quote, _, closed := strings.Cut(quote, "```")
		if !closed || !slices.ContainsFunc(stories, func(s string) bool { return strings.Contains(s, quote) }) {
			t.Errorf("no story of testdata says:\n%s", quote)
		}
	}
}

func runGolden(t *testing.T, file string) {
	datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "story" {
			d.Fatalf(t, "no such command: %s", d.Cmd)
		}
		return tell(t, settingsOf(t, d), d.Input)
	})
}

// tell runs a story and returns the answers to its questions.
func tell(t rapid.TB, s projections.Settings, story string) string {
	g := newGolden(t, s)
	defer func() { g.close(t) }()
	var out []string
	for line := range strings.Lines(story) {
		line = strings.TrimSpace(line)
		question, asks := strings.CutPrefix(line, "?")
		switch {
		case asks:
			g.agree(t)
			out = append(out, g.answer(t, strings.Fields(question)))
		case line == "restart":
			cut(t, g.live)
			g.reopen(t)
		case line == "crash":
			g.reopen(t)
		default:
			if err := g.fold(line); err != nil {
				t.Error(err)
				return err.Error()
			}
		}
	}
	g.agree(t)
	return strings.Join(out, "\n")
}

func settingsOf(t *testing.T, d *datadriven.TestData) projections.Settings {
	s := projections.DefaultSettings()
	for _, arg := range d.CmdArgs {
		var err error
		var n uint64
		switch arg.Key {
		case "fanout-limit":
			n, err = strconv.ParseUint(arg.Vals[0], 10, 32)
			s.FanoutLimit = uint32(n)
		case "send-marks-read":
			s.SendMarksRead, err = strconv.ParseBool(arg.Vals[0])
		case "index-retention":
			s.IndexRetention, err = script.ParseSpan(arg.Vals[0])
		default:
			err = fmt.Errorf("no such setting: %s", arg.Key)
		}
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
	}
	return s
}

// golden is one story: its log, the model of it, and a live partition that folded it in the order of the file.
type golden struct {
	settings projections.Settings
	parser   script.Parser
	log      script.Log
	told     []script.Record // in the order of the file
	model    *model.Model
	fs       *vfs.MemFS
	live     *projections.Partition
	deltas   projections.Deltas
	agreed   bool // nothing happened since agree
}

func newGolden(t rapid.TB, s projections.Settings) *golden {
	g := &golden{settings: s, model: model.New(s), fs: vfs.NewMem()}
	g.live = open(t, g.fs, s)
	return g
}

func (g *golden) close(t rapid.TB) {
	if err := g.live.Close(); err != nil {
		t.Error(err)
	}
}

// fold folds the records of a line.
func (g *golden) fold(line string) error {
	records, err := g.parser.Parse(line)
	if err != nil {
		return err
	}
	for _, r := range records {
		r = g.log.Add(r)
		g.told = append(g.told, r)
		r.AddTo(g.model)
		r.Fold(g.live)
		g.live.Drain(&g.deltas, true)
		g.agreed = false
	}
	return nil
}

// agree compares the model with the live partition and with random interleavings of the log.
func (g *golden) agree(t rapid.TB) {
	t.Helper()
	if g.agreed {
		return
	}
	g.agreed = true
	if d := g.model.Diff(g.live); d != "" {
		t.Errorf("in the order of the file the fold differs from the model:\n%s", d)
	}
	bytesAfter := ""
	for range 3 {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		order := g.log.Interleave(func(left []events.Input) int { return rng.IntN(len(left)) })
		p := open(t, vfs.NewMem(), g.settings)
		fold(p, order)
		if d := g.model.Diff(p); d != "" {
			t.Errorf("interleaving of seed %d: the fold differs from the model:\n%s\n%s", seed, d, orderText(order))
		}
		cut(t, p)
		if b := dump(t, p); bytesAfter == "" {
			bytesAfter = b
		} else if b != bytesAfter {
			t.Errorf("interleaving of seed %d has other bytes:\n%s\nthan another one:\n%s\n%s", seed, b, bytesAfter, orderText(order))
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// reopen closes the live partition and opens it from its store; what the store does not have is folded again.
func (g *golden) reopen(t rapid.TB) {
	g.close(t)
	g.live = open(t, g.fs, g.settings)
	pos := g.live.Position()
	var again projections.Deltas
	for i := range g.told {
		if r := &g.told[i]; r.Offset >= pos[r.Input] {
			r.Fold(g.live)
		}
	}
	g.live.Drain(&again, true)
	g.agreed = false
	g.agree(t)
}

// answer answers a question from the live partition, which was compared with the model.
func (g *golden) answer(t rapid.TB, words []string) string {
	verb := "view"
	if len(words) > 0 && (words[0] == "explain" || words[0] == "inbox" || words[0] == "stamp" || words[0] == "deltas") {
		verb, words = words[0], words[1:]
	}
	user, channel := "", script.DefaultChannel
	for _, w := range words {
		if name, ok := strings.CutPrefix(w, "#"); ok {
			channel = name
		} else {
			user = w
		}
	}
	gone := fmt.Sprintf("%s: there is no #%s", user, channel)
	switch {
	case verb == "deltas":
		return g.deltaText(t)
	case user == "":
		if c, ok := g.live.Channel(channel); ok {
			return script.FormatChannel(&c)
		}
		return fmt.Sprintf("there is no #%s", channel)
	case verb == "explain":
		if x, ok := g.live.Explain(user, channel); ok {
			return script.FormatExplanation(user, channel, &x)
		}
		return gone
	case verb == "inbox":
		return script.FormatInbox(user, g.model.Inbox(user))
	}
	v, ok := g.live.View(user, channel)
	switch {
	case !ok:
		return gone
	case verb == "stamp":
		return fmt.Sprintf("%s: %s", user, script.FormatStamp(v.Stamp))
	}
	return script.FormatView(&v)
}

// deltaText tells the deltas of users since it was asked last.
func (g *golden) deltaText(t rapid.TB) string {
	defer g.deltas.Reset()
	var out []string
	for i := range g.deltas.Records {
		r := &g.deltas.Records[i]
		if r.Topic != projections.OutUnread {
			continue
		}
		var d events.UnreadDelta
		if err := events.DecodeUnreadDelta(r.Value, &d); err != nil {
			t.Fatalf("a delta of %s: %v", r.UserID, err)
		}
		out = append(out, "delta of "+script.FormatDelta(&d))
	}
	if len(out) == 0 {
		return "no delta"
	}
	return strings.Join(out, "\n")
}

// open opens a partition in a file system of its own.
func open(t rapid.TB, fs vfs.FS, s projections.Settings) *projections.Partition {
	t.Helper()
	id := projections.Identity{ClusterID: "golden", Partition: 0, Partitions: 1, Settings: s}
	for in, name := range events.InputTopics {
		id.Topics[in] = projections.TopicIdentity{Name: name, ID: [16]byte{byte(in + 1)}}
	}
	p, err := projections.Open("store", id, projections.Options{FS: fs, MemTableSize: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func fold(p *projections.Partition, order []script.Record) {
	for i := range order {
		order[i].Fold(p)
	}
}

// cut drains, cuts and applies: after it the store has everything.
func cut(t rapid.TB, p *projections.Partition) {
	t.Helper()
	var d projections.Deltas
	p.Drain(&d, true)
	c, err := p.Cut()
	if err == nil {
		err = c.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dump is all records of a store, and its digest, as text.
func dump(t rapid.TB, p *projections.Partition) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Dump(func(key, value []byte) error {
		_, err := fmt.Fprintf(&b, "%q = %x\n", key, value)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "digest %x", p.Digest())
	return b.String()
}

func orderText(order []script.Record) string {
	var b strings.Builder
	for i := range order {
		fmt.Fprintf(&b, "  %s/%d  %s\n", order[i].Input, order[i].Offset, script.Format(&order[i]))
	}
	return b.String()
}
