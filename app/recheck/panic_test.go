package recheck

import (
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// panics is a node that panics when it is asked for a partition.
type panics struct{ Node }

func (panics) Live(int32) (*projections.Partition, error) { panic("planted") }

// TestAPanicReleasesThePartition: a check that panics while it holds the lock of a partition
// releases it, and what it began to read, so the fold goes on and the partition can be closed.
func TestAPanicReleasesThePartition(t *testing.T) {
	b := newBench(t, projections.DefaultSettings())
	b.write(b.parse("a, b join #c\na posts m1 #c"), true)
	live, err := b.p.Live(0)
	if err != nil {
		t.Fatal(err)
	}
	k := b.checker(b.config)
	for _, call := range []func(*round){
		func(r *round) { r.position() },
		func(r *round) { _, _ = r.members(t.Context()) },
		func(r *round) { _, _, _ = r.look(t.Context()) },
		func(r *round) { r.cfg.Node = b.p; r.read(func() { r.view(nil, nil) }) }, // no room for what is seen
	} {
		k.cfg.Node = panics{b.p}
		r := &round{Checker: k, live: live, channels: []string{"c"}}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the planted panic did not come")
				}
			}()
			call(r)
		}()
		testkit.Await(t, "the lock is free", func() bool {
			if !live.TryLock() {
				return false
			}
			live.Unlock()
			return true
		})
	}
}
