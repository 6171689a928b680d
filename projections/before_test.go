package projections_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/model"
	"github.com/tidemark/tidemark/internal/script"
	"github.com/tidemark/tidemark/internal/script/random"
)

// TestPropertyAnOwnerBefore: an owner publishes what it folds and dies before its group and its store know; the next one
// folds everything in another order, and looks at it less often. What readers keep is right all the same: what the first
// said and the second never comes to see, the second takes back.
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
		committed := interleaving(t, &c.Log, "committed")
		committed = committed[:rapid.IntRange(0, len(committed)).Draw(t, "committed")]
		rest := c.Log
		for i := range committed {
			rest[committed[i].Input] = rest[committed[i].Input][1:]
		}
		known := newTold() // of what is committed, all was told
		stored := len(committed) > 0 && rapid.IntRange(0, 3).Draw(t, "opens a store") == 3
		now := newTold()
		then := owner(t, c.Settings, m, committed, known, stored)
		for _, r := range oneFirst(t, &rest, "its order") {
			r.Fold(then)
			if rapid.IntRange(0, 9).Draw(t, "drain") == 9 {
				now.drain(t, then, m, "the owner", false)
			}
		}
		now.drain(t, then, m, "the owner", false)
		closePartition(t, then)
		for range 3 {
			before := newTold()
			p := owner(t, c.Settings, m, committed, newTold(), stored)
			order := oneFirst(t, &rest, "order before")
			for _, r := range order[:rapid.IntRange(0, len(order)).Draw(t, "dies after")] {
				r.Fold(p)
				if rapid.IntRange(0, 9).Draw(t, "no drain") < 9 {
					before.drain(t, p, m, "the owner before", false)
				}
			}
			closePartition(t, p)
			kept := newTold()
			for _, said := range []*told{known, before, now} {
				kept.read(said)
			}
			kept.check(t, m, "what readers keep in the end")
		}
	})
}

// oneFirst draws an order of the log's records; in most one topic is folded before the others, or after them.
func oneFirst(t *rapid.T, l *script.Log, label string) []script.Record {
	in := events.Input(rapid.IntRange(0, events.NumInputs-1).Draw(t, label+": topic"))
	where := rapid.IntRange(0, 2).Draw(t, label+": first, last, between")
	return l.Interleave(func(left []events.Input) int {
		at := slices.Index(left, in)
		switch {
		case at < 0 || where == 2:
			at = rapid.IntRange(0, len(left)-1).Draw(t, label)
		case where == 1:
			at = (at + rapid.IntRange(1, len(left)-1).Draw(t, label)) % len(left)
		}
		return at
	})
}
