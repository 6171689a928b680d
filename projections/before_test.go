package projections_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/model"
	"github.com/tidemark/tidemark/internal/script/random"
)

// TestPropertyAnOwnerBefore: an owner publishes what it folds and dies before its group and its store know; the next one
// folds everything in another order. What readers keep is right all the same: what the first said and the second never
// comes to see, the second takes back.
func TestPropertyAnOwnerBefore(t *testing.T) {
	scripts(t, 20, func(t *rapid.T, c *random.Case) {
		m := model.New(c.Settings)
		for in := range c.Log {
			for _, r := range c.Log[in] {
				r.AddTo(m)
			}
		}
		run := func(owner string, all bool) *told {
			p := open(t, vfs.NewMem(), c.Settings)
			defer closePartition(t, p)
			told := newTold()
			order := interleaving(t, &c.Log, "order of the "+owner)
			if !all {
				order = order[:rapid.IntRange(0, len(order)).Draw(t, "dies after")]
			}
			for i := range order {
				order[i].Fold(p)
				if rapid.IntRange(0, 3).Draw(t, "drain") == 3 {
					told.drain(t, p, m, owner, false)
				}
			}
			if all {
				told.drain(t, p, m, owner, false)
			}
			return told
		}
		before, now := run("first", false), run("second", true)
		for key, v := range before.last {
			_, channel, _, _ := events.SplitUnreadKey([]byte(key))
			if !v.Member && m.Deleted(string(channel)) {
				continue // what he did there stays with readers, who have no use for it
			}
			if n, told := now.last[key]; !told || v.Stamp.Dominates(n.Stamp) {
				now.last[key], now.touched[key] = v, before.touched[key]
			}
		}
		for key, r := range before.channel {
			if n, told := now.channel[key]; !told || r.Stamp.Dominates(n.Stamp) {
				now.channel[key] = r
			}
		}
		now.check(t, m, "what readers keep in the end")
	})
}
