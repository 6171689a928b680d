package chaos

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestPause (R6): a member is frozen in the middle of a burst, for longer than its session. The other takes its
// partitions over and goes on. Then the first one wakes up, still thinking that it owns them.
func TestPause(t *testing.T) {
	t.Parallel()
	a := newAttack(t, 1, 2)
	frozen, other := a.nodes[a.r.IntN(2)], a.nodes[0]
	if frozen == other {
		other = a.nodes[1]
	}
	a.ticks(50 + a.r.IntN(50))
	owns := func(n *node, count int) bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, live, _ := n.ready(ctx)
		return live == count
	}
	a.ticksUntil("both have their share", func() bool { return owns(frozen, partitions/2) && owns(other, partitions/2) })

	a.w.Write(2000)
	time.Sleep(time.Duration(a.r.Int64N(int64(10 * tick))))
	id := a.seatOf(foldGroup, frozen)
	frozen.pause()
	begun := time.Now()
	a.ticksUntil("the other node owns all partitions", func() bool { return owns(other, partitions) })
	ids, err := a.members(context.Background(), foldGroup)
	if err != nil || slices.Contains(ids, id) {
		t.Errorf("%s is frozen, its partitions are live on %s, and it still is a member: %v, %v", frozen.name, other.name, ids, err)
	}
	t.Logf("%s was given up %s after it was frozen", frozen.name, time.Since(begun).Round(time.Millisecond))
	a.w.Write(500)
	a.erase() // the one that is frozen still has him
	frozen.resume()
	a.ticks(100)
	a.ticksUntil(frozen.name+" is a member again", func() bool { return a.seat(frozen) })
	a.check(true)
}
