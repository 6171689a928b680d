package projections_test

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/model"
	"github.com/tidemark/tidemark/internal/script"
	"github.com/tidemark/tidemark/internal/script/random"
	"github.com/tidemark/tidemark/projections"
)

// TestPropertyAnOwnerBefore: an owner publishes what it folds and dies before its group and its store know; the next one
// folds everything in another order, and most of it at once. What readers keep is right all the same: what the first said
// and the second never comes to see, the second takes back. Each script has several of both, and each of the first meets
// each of the second.
func TestPropertyAnOwnerBefore(t *testing.T) {
	draw := func(t *rapid.T) *random.Case {
		if rapid.IntRange(0, 3).Draw(t, "of any kind") == 3 {
			return random.Draw(t)
		}
		return random.DrawTakenBack(t)
	}
	scriptsOf(t, 20, draw, func(t *rapid.T, c *random.Case) {
		m := model.New(c.Settings)
		for in := range c.Log {
			for _, r := range c.Log[in] {
				r.AddTo(m)
			}
		}
		store := open(t, vfs.NewMem(), c.Settings)
		defer closePartition(t, store)
		for range 3 {
			committed := interleaving(t, &c.Log, "committed")
			committed = committed[:rapid.IntRange(0, len(committed)).Draw(t, "committed")]
			rest := c.Log
			for i := range committed {
				rest[committed[i].Input] = rest[committed[i].Input][1:]
			}
			owner := func(order []script.Record, quick int) (known, said *told) {
				p := projections.Beside(store)
				known, said = newTold(), newTold()
				fold(p, committed)
				known.drain(t, p, m, "what is committed", false)
				for i := range order {
					order[i].Fold(p)
					if rapid.IntRange(0, 9).Draw(t, "drain") < quick {
						said.drain(t, p, m, "an owner", false)
					}
				}
				said.drain(t, p, m, "an owner", false)
				return known, said
			}
			var before [4]*told
			for i := range before {
				order := oneFirst(t, &rest)
				_, before[i] = owner(order[:rapid.IntRange(0, len(order)).Draw(t, "dies after")], 9)
			}
			for range 3 {
				known, now := owner(oneFirst(t, &rest), 1)
				right := newTold() // what readers keep who never heard of an owner before
				right.read(known)
				right.read(now)
				right.check(t, m, "what readers keep of one owner")
				for _, b := range before {
					kept := newTold()
					kept.read(known)
					kept.read(b)
					kept.read(now)
					if !kept.same(right) { // the model is slow, and nearly always they are
						kept.check(t, m, "what readers keep in the end")
					}
				}
			}
		}
	})
}

// oneFirst draws an order of the log's records; in most one topic is folded before the others, or after them.
func oneFirst(t *rapid.T, l *script.Log) []script.Record {
	in := events.Input(rapid.IntRange(0, events.NumInputs-1).Draw(t, "topic"))
	where := rapid.IntRange(0, 2).Draw(t, "first, last, between")
	return l.Interleave(func(left []events.Input) int {
		at := slices.Index(left, in)
		switch {
		case at < 0 || where == 2:
			at = rapid.IntRange(0, len(left)-1).Draw(t, "order")
		case where == 1:
			at = (at + rapid.IntRange(1, len(left)-1).Draw(t, "order")) % len(left)
		}
		return at
	})
}
