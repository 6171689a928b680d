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

// TestPropertyRuntime checks laws 1, 3 and 8 of DESIGN §4.6 for a partition that runs as in the
// processor: deltas of reads and channel records are drained before the fan-out, a cut is written
// while the fold and queries go on, and a kill loses everything that was not written, including a
// cut in progress.
func TestPropertyRuntime(t *testing.T) {
	scripts(t, 20, func(t *rapid.T, c *random.Case) {
		through := ranThrough(t, c)
		fs := vfs.NewMem()
		p := open(t, fs, c.Settings)
		defer func() { closePartition(t, p) }()
		m := model.New(c.Settings)
		output := newPublished()
		order := interleaving(t, &c.Log, "order")
		published := 0
		var written *projections.Cut // the cut being written; nil: none
		write := func() {
			if written == nil {
				return
			}
			if err := written.Apply(); err != nil {
				t.Fatal(err)
			}
			written = nil
		}
		for i := range order {
			order[i].Fold(p)
			order[i].AddTo(m)
			at := fmt.Sprintf("after %d records", i+1)
			full := func() {
				output.drain(t, p, m, at, false)
				output.check(t, m, at)
				published = i + 1
			}
			switch rapid.SampledFrom([]string{"", "", "part", "part", "part", "full", "cut", "cut", "write", "kill"}).Draw(t, "then") {
			case "part":
				output.part(t, p, m, at, rapid.Bool().Draw(t, "records"))
			case "full":
				full()
			case "cut":
				full()
				if written != nil {
					continue
				}
				var err error
				if written, err = p.Cut(); err != nil {
					t.Fatal(err)
				}
			case "write":
				write()
			case "kill":
				closePartition(t, p)
				p, written = open(t, fs, c.Settings), nil
				refold(t, p, order[:published], order[published:i+1])
			}
			if rapid.IntRange(0, 5).Draw(t, "ask") == 5 {
				if d := m.Diff(p); d != "" {
					t.Fatalf("%s:\n%s", at, d)
				}
			}
		}
		write()
		output.drain(t, p, m, "at the end", false)
		output.check(t, m, "at the end")
		cut(t, p)
		if a, b := dump(t, p), through; a != b {
			t.Fatalf("the bytes differ:\n%s\nof one that ran through:\n%s", a, b)
		}
	})
}
