package projections

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/receipts"
)

// everyByte returns a hash over all that a store has, including the header and the chain of cuts.
func everyByte(t *testing.T, p *Partition) uint64 {
	t.Helper()
	h := xxh3.New()
	it, err := p.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for it.First(); it.Valid(); it.Next() {
		fmt.Fprintf(h, "%d %q %d %x\n", len(it.Key()), it.Key(), len(it.Value()), it.Value())
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return h.Sum64()
}

// TestCutBytes: the written cuts are equal, byte for byte and cut for cut, to those of the build of
// format 1 and fold 2 from which these numbers were taken. The digests of other nodes, and stores
// of that build, depend on it.
func TestCutBytes(t *testing.T) {
	if FormatVersion != 1 || FoldVersion != 2 {
		t.Fatal("a new format or fold has other bytes: take the numbers again")
	}
	t.Run("random logs", func(t *testing.T) {
		h := xxh3.New()
		for seed := range int64(12) {
			p := mustOpen(t, vfs.NewMem(), testIdentity())
			l := newLongLog(seed, 300, 240)
			rng := rand.New(rand.NewPCG(uint64(seed), 3))
			for end := l.end(); p.rules.Position() != end; {
				pos := p.rules.Position()
				l.foldTo(p, min(end[0], pos[0]+rng.Int64N(60)), min(end[1], pos[1]+rng.Int64N(60)), func() bool { return rng.IntN(2) == 0 })
				mustCut(t, p)
				fmt.Fprintf(h, "%x ", everyByte(t, p))
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
		sameSum(t, h.Sum64(), sumOfRandomLogs)
	})
	t.Run("receipts", func(t *testing.T) {
		fixture := newReceiptsFixture(t, 200)
		h := xxh3.New()
		rng := rand.New(rand.NewPCG(7, 7))
		for n := range 240 {
			if n == 120 { // earlier messages expire
				fixture.now += receipts.Kept - 60_000
			}
			fixture.post(n)
			for range 6 {
				fixture.read(1+rng.IntN(190), uint32(1+n-rng.IntN(min(n+1, 9))))
				fixture.deliver(1+rng.IntN(190), n)
			}
			switch {
			case n%40 == 17:
				fixture.now++
				fixture.p.rules.FoldRead(&events.Read{Kind: events.KindUserErased, ChannelID: []byte("room"), UserID: fmt.Appendf(nil, "user-%05d", n),
					OccurredAt: fixture.now}, fixture.r, fixture.now)
				fixture.r++
			case n%23 == 11:
				mustCut(t, fixture.p)
				fmt.Fprintf(h, "%x ", everyByte(t, fixture.p))
			}
		}
		mustCut(t, fixture.p)
		fmt.Fprintf(h, "%x ", everyByte(t, fixture.p))
		sameSum(t, h.Sum64(), sumOfReceipts)
	})
}

// These are the sums of TestCutBytes.
const (
	sumOfRandomLogs = 0x236865463d7d5a6b
	sumOfReceipts   = 0x82e5464331f0c09
)

func sameSum(t *testing.T, got, want uint64) {
	t.Helper()
	if got != want {
		t.Errorf("the cuts' bytes have the sum %#x, not %#x", got, want)
	}
}
