package arena

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// Readers find every entry that was inserted and not removed, whatever a writer does meanwhile.
func TestSharedTableMissesNobody(t *testing.T) {
	const keys, rounds = 3000, 40_000
	seed := rand.Uint64() //nolint:gosec // of this test alone
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // of this test alone
	var table SharedTable
	hashes := make([]uint64, keys)
	for i := range hashes {
		hashes[i] = Mix(r.Uint64())
	}
	var steady [keys]atomic.Bool // inserted, and not to be removed
	var missed atomic.Int64
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for i := 0; ; i = (i + 1) % keys {
				select {
				case <-done:
					return
				default:
				}
				if steady[i].Load() && !table.May(hashes[i]) && steady[i].Load() {
					missed.Add(1)
				}
			}
		})
	}
	in := map[int]bool{}
	for n := range rounds {
		i := r.IntN(keys)
		switch {
		case !in[i]:
			table.Insert(hashes[i], uint32(i+1))
			in[i] = true
			steady[i].Store(i%3 != 0)
		case i%3 == 0 || n%500 == 0:
			steady[i].Store(false)
			table.Remove(hashes[i], uint32(i+1))
			delete(in, i)
		}
		if n%1000 == 0 {
			table.Trim()
		}
	}
	close(done)
	readers.Wait()
	if n := missed.Load(); n > 0 {
		t.Errorf("%d times somebody was missed", n)
	}
	kept := table.Hashes()
	for i, h := range hashes {
		if in[i] != table.May(h) || in[i] != kept.May(h) {
			t.Errorf("%d: is in it: %v, and May says %v, and of what is kept %v", i, in[i], table.May(h), kept.May(h))
		}
	}
	for i := range in {
		table.Remove(hashes[i], uint32(i+1))
	}
	table.Trim()
	for _, h := range hashes {
		if table.May(h) {
			t.Fatal("it is empty, and somebody may be in it")
		}
	}
}
