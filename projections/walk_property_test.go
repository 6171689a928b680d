package projections_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
)

// begun is an answer that was begun at one position and must equal the answer at that position.
type begun struct {
	what string
	want any
	end  func() (any, error)
}

func beginReceipts(t *rapid.T, p *projections.Partition, channel, message string, from uint32, limit int) *begun {
	what := fmt.Sprintf("Receipts(%s, %s, %d, %d)", channel, message, from, limit)
	want, ok := p.Receipts(channel, message, from, limit)
	w, begins := p.BeginReceipts(channel, message, from, projections.NewReceiptsMemory(limit))
	if ok != begins {
		t.Fatalf("%s: there %t, begun %t", what, ok, begins)
	}
	if !ok {
		return nil
	}
	return &begun{what, want, func() (any, error) { return w.End(context.Background()) }}
}

func beginExplain(t *rapid.T, p *projections.Partition, user, channel, thread string) *begun {
	what := fmt.Sprintf("Explain(%s, %s, %s)", user, channel, thread)
	explain := func() (projections.Explanation, bool) { return p.Explain(user, channel) }
	begin := func() (*projections.ExplainWalk, bool) { return p.BeginExplain(user, channel) }
	if thread != "" {
		explain = func() (projections.Explanation, bool) { return p.ExplainThread(user, channel, thread) }
		begin = func() (*projections.ExplainWalk, bool) { return p.BeginExplainThread(user, channel, thread) }
	}
	want, ok := explain()
	w, begins := begin()
	if ok != begins {
		t.Fatalf("%s: there %t, begun %t", what, ok, begins)
	}
	if !ok {
		return nil
	}
	return &begun{what, want, func() (any, error) { return w.End(context.Background()) }}
}

func (b *begun) check(t *rapid.T, at string) {
	got, err := b.end()
	if err != nil || !reflect.DeepEqual(got, b.want) {
		t.Fatalf("%s: when it was begun %+v, ended %s %+v, %v", b.what, b.want, at, got, err)
	}
}

// walks folds a case and queries all the time. An answer that is begun at a position and ended
// after more was folded, cut, applied and flushed equals the answer at that position, which
// TestPropertyModel compares with the model.
func walks(t *rapid.T, c *random.Case) {
	p := open(t, vfs.NewMem(), c.Settings)
	defer closePartition(t, p)
	m := model.New(c.Settings)
	var open []*begun
	var pending *projections.Cut
	apply := func() {
		if pending != nil {
			if err := pending.Apply(); err != nil {
				t.Fatal(err)
			}
			pending = nil
		}
	}
	defer func() { // otherwise the store would wait for them
		for _, b := range open {
			_, _ = b.end()
		}
	}()
	begin := func(b *begun) {
		if b != nil {
			open = append(open, b)
		}
	}
	end := func(k int, at string) {
		b := open[k]
		open = slices.Delete(open, k, k+1)
		b.check(t, at)
	}
	order := interleaving(t, &c.Log, "order")
	for i := range order {
		order[i].Fold(p)
		order[i].AddTo(m)
		channels, users := m.Channels(), m.Users()
		channel := rapid.SampledFrom(channels).Draw(t, "channel")
		switch rapid.IntRange(0, 9).Draw(t, "then") {
		case 0, 1:
			var d projections.Deltas
			p.Drain(&d, true)
			apply()
			cut, err := p.Cut()
			if err != nil {
				t.Fatal(err)
			}
			pending = cut
		case 2:
			apply()
		case 3, 4, 5:
			ids := m.MessageIDs(channel)
			if len(ids) == 0 {
				continue
			}
			message := rapid.SampledFrom(ids).Draw(t, "message")
			from, limit := rapid.Uint32Range(0, 70).Draw(t, "from"), rapid.SampledFrom([]int{0, 1, 3, 100}).Draw(t, "limit")
			begin(beginReceipts(t, p, channel, message, from, limit))
		case 6, 7:
			if len(users) == 0 {
				continue
			}
			user, thread := rapid.SampledFrom(users).Draw(t, "user"), ""
			if threads := m.Threads(channel); len(threads) > 0 && rapid.Bool().Draw(t, "in a thread") {
				thread = rapid.SampledFrom(threads).Draw(t, "thread")
			}
			begin(beginExplain(t, p, user, channel, thread))
		default:
			if len(open) > 0 {
				end(rapid.IntRange(0, len(open)-1).Draw(t, "ends"), fmt.Sprintf("after %d records", i+1))
			}
		}
	}
	for len(open) > 0 {
		end(0, "at the end")
	}
}

// TestPropertyWalks: an answer that begins under the lock and is completed without it, while more
// is folded, cut and applied, has the state of the position at which it began.
func TestPropertyWalks(t *testing.T) {
	scriptsOf(t, 20, random.Draw, walks)
}

// TestPropertyWalksInACrowd is TestPropertyWalks for many members and long runs of messages.
func TestPropertyWalksInACrowd(t *testing.T) {
	scriptsOf(t, 3, random.DrawCrowd, walks)
}
