package projections_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// golden is one story: its log, the model of it, and a live partition that folded it in the order
// of the file.
type golden struct {
	settings projections.Settings
	parser   script.Parser
	log      script.Log
	records  []script.Record // in the order of the file
	model    *model.Model
	fs       *vfs.MemFS
	live     *projections.Partition
	deltas   projections.Deltas
	agreed   bool // nothing has happened since agree
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
		g.records = append(g.records, r)
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

// reopen closes the live partition and opens it from its store, and folds again what the store
// lacks.
func (g *golden) reopen(t rapid.TB) {
	g.close(t)
	g.live = open(t, g.fs, g.settings)
	pos := g.live.Position()
	var again projections.Deltas
	for i := range g.records {
		if r := &g.records[i]; r.Offset >= pos[r.Input] {
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
	if len(words) > 0 && slices.Contains([]string{"explain", "inbox", "threads", "stamp", "deltas", "receipts", "readers"}, words[0]) {
		verb, words = words[0], words[1:]
	}
	thread := ""
	if n := len(words); n > 3 && words[n-3] == "in" && words[n-2] == "thread" {
		thread, words = words[n-1], words[:n-3]
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
	case verb == "readers":
		if v, ok := g.live.Readers(channel, 0, 1000); ok {
			return script.FormatReaders(channel, v.List)
		}
		return fmt.Sprintf("there is no #%s", channel)
	case verb == "receipts":
		if v, ok := g.live.Receipts(channel, user, 0, 1000); ok { // the word names the message
			return script.FormatReceipts(&v)
		}
		return fmt.Sprintf("there is no %s in #%s", user, channel)
	case user == "":
		if c, ok := g.live.Channel(channel); ok {
			return script.FormatChannel(&c)
		}
		return fmt.Sprintf("there is no #%s", channel)
	case verb == "threads":
		return script.FormatThreads(user, g.model.ThreadList(user))
	case thread != "":
		return g.answerThread(verb, user, channel, thread)
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

// answerThread answers a question about a thread.
func (g *golden) answerThread(verb, user, channel, thread string) string {
	if verb == "explain" {
		if x, ok := g.live.ExplainThread(user, channel, thread); ok {
			return script.FormatExplanation(user, channel, &x)
		}
	} else if v, ok := g.live.Thread(user, channel, thread); ok {
		return script.FormatThread(&v)
	}
	return fmt.Sprintf("%s: there is no #%s", user, channel)
}

// deltaText returns the deltas of users since the last call.
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
