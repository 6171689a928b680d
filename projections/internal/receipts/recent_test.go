package receipts

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestRecentIsWhatIsStored: whatever cuts write, in whatever order, and whatever is dropped in
// between, what Recent says it knows is what a store that was written with it has.
func TestRecentIsWhatIsStored(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	type place struct{ channel, block, page, thread uint32 }
	stored, heads := map[place][]byte{}, map[uint32]uint32{}
	var r Recent
	knew, absent := 0, 0
	for range 200 {
		r.Grow(1 + rng.IntN(100))
		for range 100 {
			channel := 1 + rng.Uint32N(300)
			heads[channel] += rng.Uint32N(12)
			if heads[channel] == 0 {
				continue
			}
			if rng.IntN(50) == 0 { // a channel that is deleted, or of which a user is erased
				r.Drop(channel)
				for p := range stored {
					if p.channel == channel {
						delete(stored, p)
					}
				}
			}
			newest := (heads[channel] - 1) / BlockLen
			for block := newest - min(newest, rng.Uint32N(8)/6); block <= newest; block++ { // one cut
				a := Entry{Seq: block*BlockLen + 1, Ord: rng.Uint32N(70), Thread: rng.Uint32N(8) / 7}
				p := place{channel, a.Block(), a.Ord / 64, a.Thread}
				if val, known := r.Get(channel, &a); known {
					if !bytes.Equal(val, stored[p]) || (val == nil) != (stored[p] == nil) {
						t.Fatalf("%+v: it is said to be %x, and is %x", p, val, stored[p])
					}
					if knew++; val == nil {
						absent++
					}
				}
				val := make([]byte, 1+rng.IntN(recentBytes+10))
				for i := range val {
					val[i] = byte(rng.Uint32())
				}
				stored[p] = val
				r.Put(channel, &a, val)
			}
			r.Saw(channel, heads[channel])
		}
	}
	if knew < 5000 || absent < 1000 {
		t.Errorf("it knew %d blocks of 20,000, of which %d are not stored: the test shows little", knew, absent)
	}
}

// TestRecentStaysSmall: its memory is bounded, and grows with what a cut writes.
func TestRecentStaysSmall(t *testing.T) {
	var r Recent
	if r.Drop(1); r.HeapBytes() != 0 {
		t.Errorf("an empty one takes %d bytes", r.HeapBytes())
	}
	for _, c := range []struct {
		channels int
		bytes    int64
	}{{0, 64 * 80}, {1000, 2048 * 80}, {10, 2048 * 80}, {1 << 20, maxRecent * 80}} {
		if r.Grow(c.channels); r.HeapBytes() != c.bytes {
			t.Errorf("after a cut of %d channels it takes %d bytes, want %d", c.channels, r.HeapBytes(), c.bytes)
		}
	}
}
