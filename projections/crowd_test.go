package projections_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
)

// TestPropertyCrowd checks laws 1, 3 and 8 of DESIGN §4.6 for scripts of many members and long
// runs. Two interleavings, one of them with cuts, restarts and crashes, both end with the model's
// answers, the same bytes, and the same deltas under the same stamp. The readers of either have the
// right values.
func TestPropertyCrowd(t *testing.T) {
	scriptsOf(t, 2, random.DrawCrowdMore(folded...), func(t *rapid.T, c *random.Case) {
		fs := vfs.NewMem()
		p := [2]*projections.Partition{open(t, vfs.NewMem(), c.Settings), open(t, fs, c.Settings)}
		defer func() { closePartition(t, p[0]); closePartition(t, p[1]) }()
		m := model.New(c.Settings)
		for in := range c.Log {
			for i := range c.Log[in] {
				c.Log[in][i].AddTo(m)
			}
		}
		var readers [2]*published
		for k := range p {
			readers[k] = newPublished()
			order := interleaving(t, &c.Log, "order")
			often := rapid.SampledFrom([]int{4, 20, 80}).Draw(t, "one in")
			for i := range order {
				if oneDrawn(t, often, "skip") { // the offsets in between
					p[k].Skip(order[i].Input, order[i].Offset)
				}
				order[i].Fold(p[k])
				if !oneDrawn(t, often, "drain") {
					continue
				}
				at := fmt.Sprintf("after %d records", i+1)
				readers[k].drain(t, p[k], m, at, false)
				if k == 0 {
					continue
				}
				if rapid.Bool().Draw(t, "cut") {
					cut(t, p[k])
				}
				if rapid.Bool().Draw(t, "restart") {
					closePartition(t, p[k])
					p[k] = open(t, fs, c.Settings)
					refold(t, p[k], order[:i+1], nil)
				}
			}
			readers[k].drain(t, p[k], m, "at the end", false)
			readers[k].check(t, m, "at the end")
			cut(t, p[k])
			if d := m.Diff(p[k]); d != "" {
				t.Fatalf("interleaving %d:\n%s", k, d)
			}
		}
		if a, b := dump(t, p[0]), dump(t, p[1]); a != b {
			t.Fatalf("the bytes differ:\n%s\nand\n%s", a, b)
		}
		for stamp, a := range readers[0].stamped {
			if b, ok := readers[1].stamped[stamp]; ok && a != b {
				t.Fatalf("two deltas have the stamp %s:\n%s\nand\n%s", stamp, a, b)
			}
		}
	})
}

// oneDrawn returns true once in n times.
func oneDrawn(t *rapid.T, n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}
