package arena

import (
	"testing"

	"pgregory.net/rapid"
)

// TestQuotientTable drives a table and a map through inserts, removes, lookups and trims, with few
// hashes so that entries are far from where they belong, and with references that leave few or no
// bits of the hash.
func TestQuotientTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := map[uint32]uint64{} // ref -> hash
		tab := QuotientTable{HashOf: func(ref uint32) uint64 {
			h, ok := keys[ref]
			if !ok {
				t.Fatalf("asked for the hash of %d, which is not in the table", ref)
			}
			return h
		}}
		hashes := rapid.SampledFrom([]uint64{3, 50, 1 << 40}).Draw(t, "hashes")
		first := rapid.SampledFrom([]uint32{0, 200, 1 << 20, MaxRef - 10_000}).Draw(t, "first")
		rounds := rapid.SampledFrom([]int{100, 300, 9000}).Draw(t, "rounds")
		if hashes < 1<<40 {
			rounds = min(rounds, 300)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		random := func(n uint64) uint64 { // rapid is too slow for thousands of draws
			seed = seed*6364136223846793005 + 1442695040888963407
			return seed >> 33 % n
		}
		stays := rapid.Uint64Range(0, 5).Draw(t, "stays")
		for next := first + 1; next <= first+uint32(rounds); next++ {
			h := Mix(random(1<<31) * 0x9e3779b97f4a7c15 % hashes)
			tab.Insert(h, next)
			keys[next] = h
			if random(stays+1) == 0 {
				gone := first + 1 + uint32(random(uint64(next-first)))
				if h, ok := keys[gone]; ok {
					tab.Remove(h, gone)
					delete(keys, gone)
				}
			}
			if random(1000) == 0 {
				tab.Trim()
			}
		}
		for _, most := range []int{rounds, 10} {
			for ref, h := range keys {
				if len(keys) <= most {
					break
				}
				tab.Remove(h, ref)
				delete(keys, ref)
			}
			tab.Trim()
			if tab.count != len(keys) {
				t.Fatalf("count %d, want %d", tab.count, len(keys))
			}
			for ref := first + 1; ref <= first+uint32(rounds); ref++ {
				h, want := keys[ref]
				if got := tab.Find(h, func(r uint32) bool { return r == ref }); (got == ref) != want {
					t.Fatalf("find(%d) = %d, known %t", ref, got, want)
				}
				if want && tab.First(h) == 0 {
					t.Fatalf("nothing may be under the hash of %d", ref)
				}
			}
		}
	})
}

// TestQuotientTableGrowsByItself: a table of references without gaps calls HashOf for few entries when
// it grows and when entries leave, and First returns few wrong references.
func TestQuotientTableGrowsByItself(t *testing.T) {
	const n = 200_000
	asked := 0
	hash := func(ref uint32) uint64 { return PairHash(ref/50, ref) }
	tab := QuotientTable{HashOf: func(ref uint32) uint64 { asked++; return hash(ref) }}
	for ref := uint32(1); ref <= n; ref++ {
		tab.Insert(hash(ref), ref)
	}
	if asked > n/20 {
		t.Errorf("%d hashes were computed for %d entries", asked, n)
	}
	wrong := 0
	for ref := uint32(1); ref <= n; ref++ {
		if tab.First(hash(ref)) != ref {
			wrong++
		}
		if got := tab.First(hash(ref + n)); got != 0 {
			wrong++
		}
	}
	if wrong > n/50 {
		t.Errorf("%d candidates of %d are wrong", wrong, 2*n)
	}
	asked = 0
	for ref := uint32(1); ref <= n; ref++ {
		tab.Remove(hash(ref), ref)
	}
	if asked > n/20 || tab.count != 0 {
		t.Errorf("%d hashes were computed to remove %d entries, and %d are left", asked, n, tab.count)
	}
}

// TestReferencesAboveMaxRef: Insert panics instead of storing part of a reference.
func TestReferencesAboveMaxRef(t *testing.T) {
	tab := QuotientTable{HashOf: func(uint32) uint64 { return 7 }}
	tab.Insert(7, MaxRef)
	if got := tab.First(7); got != MaxRef {
		t.Errorf("first is %d, want %d", got, MaxRef)
	}
	defer func() {
		if recover() == nil {
			t.Error("a reference above MaxRef was taken")
		}
	}()
	tab.Insert(8, MaxRef+1)
}
