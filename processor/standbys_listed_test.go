package processor

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// unlisted is a fold that is not listed before listed is true.
type unlisted struct {
	setup.Fold
	listed *atomic.Bool
}

// Listed implements setup.Fold.
func (u unlisted) Listed() bool { return u.listed.Load() }

// TestPlannedMoveWaitsUntilTheNewOwnerIsListed: the new owner has caught up, but does not know all
// channels of its users yet, so that it would refuse calls about users. The old owner keeps the
// partitions until it does.
func TestPlannedMoveWaitsUntilTheNewOwnerIsListed(t *testing.T) {
	const n = 4
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), n)
	tr := newTraffic(s, rand.Uint64(), 20)
	tr.run(3000)
	ca, cb := s.config(t.TempDir()), s.config(t.TempDir())
	ca.NearRecords, cb.NearRecords = 20, 20 // so that nothing moves at once
	ca.StandbyEvery, cb.StandbyEvery = 20*time.Millisecond, 20*time.Millisecond
	var listed atomic.Bool
	setup.HooksOf(&cb).OpenStore = func(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
		f, err := setup.Open(dir, id, o)
		if err != nil {
			return nil, err
		}
		return unlisted{f, &listed}, nil
	}
	a := s.start(ca).ready(n)
	s.caughtUp(a)
	b := s.start(cb)
	until(t, "the new member has caught up, or owns something", func() bool {
		committed, caughtUp := s.committed(), 0
		for _, st := range b.Standbys() {
			if st.Position == committed[st.Partition] {
				caughtUp++
			}
		}
		return caughtUp == n/2 || len(b.Status()) > 0
	})
	time.Sleep(20 * cb.StandbyEvery) // for a move that must not come
	if len(b.Status()) != 0 {
		t.Fatalf("the new member owns %v before it is listed", b.Status())
	}
	a.ready(n)
	listed.Store(true)
	b.ready(n / 2)
	a.ready(n / 2)
	s.caughtUp(a, b)
	a.stop()
	b.stop()
}
