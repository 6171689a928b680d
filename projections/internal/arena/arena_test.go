package arena

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTable drives a table and a map through inserts, removes and lookups, with few tags so that
// they collide.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tab Table
		keys := map[uint32]uint64{} // ref -> hash
		spreadOver := rapid.SampledFrom([]uint64{3, 50, 1 << 40}).Draw(t, "hashes")
		for next := uint32(1); next < 300; next++ {
			h := Mix(rapid.Uint64Range(0, spreadOver).Draw(t, "hash"))
			tab.Insert(h, next)
			keys[next] = h
			if rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				gone := rapid.Uint32Range(1, next).Draw(t, "gone")
				if h, ok := keys[gone]; ok {
					tab.Remove(h, gone)
					delete(keys, gone)
				}
			}
		}
		if tab.count != len(keys) {
			t.Fatalf("count %d, want %d", tab.count, len(keys))
		}
		for ref := uint32(1); ref < 300; ref++ {
			h, want := keys[ref]
			got := tab.Find(h, func(r uint32) bool { return r == ref })
			if (got == ref) != want {
				t.Fatalf("find(%d) = %d, known %t", ref, got, want)
			}
		}
	})
}

// TestBlobs checks that blobs of all sizes keep their bytes while others come and go.
func TestBlobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Blobs
		live := map[uint32][]byte{}
		size := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, 40_000))
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			b := bytes.Repeat([]byte{byte(i)}, size.Draw(t, "size"))
			ref := s.Put(b)
			if _, taken := live[ref]; taken || ref == 0 {
				t.Fatalf("reference %d given twice", ref)
			}
			live[ref] = b
			for ref := range live {
				if rapid.IntRange(0, 9).Draw(t, "release") == 0 {
					s.Release(ref)
					delete(live, ref)
				}
				break
			}
		}
		for ref, want := range live {
			if !bytes.Equal(s.Get(ref), want) {
				t.Fatalf("blob %x changed", ref)
			}
			s.Release(ref)
		}
		if s.live != 0 {
			t.Fatalf("%d bytes are said to be in use after all were released", s.live)
		}
	})
}

// TestSlab: indices are reused and their objects zeroed, and addresses stay valid when a slab
// grows.
func TestSlab(t *testing.T) {
	var s Slab[[4]int]
	first := s.Alloc()
	s.At(first)[0] = 7
	p := s.At(first)
	for range 3 * slabSize {
		s.Alloc()
	}
	if p != s.At(first) || p[0] != 7 || s.Len() != 3*slabSize+1 {
		t.Fatalf("moved, or %d elements", s.Len())
	}
	s.Release(first)
	if again := s.Alloc(); again != first || s.At(again)[0] != 0 {
		t.Fatalf("index %d instead of %d, value %d", again, first, s.At(again)[0])
	}
}

// TestSlabGrowsInSteps: a slab of few elements has memory for few. All its elements have indices of
// their own, and Each and Has know no others.
func TestSlabGrowsInSteps(t *testing.T) {
	for n, most := range map[int]int{
		0: 0, 1: 32, 31: 32, 32: 32 + 256, 287: 32 + 256, 288: 32 + 256 + 2048, 2335: 32 + 256 + 2048, 2336: 32 + 256 + 2048 + 16384,
		18719: 32 + 256 + 2048 + 16384, 18720: 32 + 256 + 2048 + 16384 + 32768, 60_000: 32 + 256 + 2048 + 16384 + 2*32768,
	} {
		var s Slab[uint32]
		given := map[uint32]bool{}
		for range n {
			i := s.Push(1)
			if given[i] || !s.Has(i) || i == 0 || i >= s.End() {
				t.Fatalf("of %d, index %d: given out before %v, has memory %v", n, i, given[i], s.Has(i))
			}
			given[i] = true
		}
		if s.allocated() != most || s.Len() != n {
			t.Errorf("%d elements take the memory of %d, want %d", s.Len(), s.allocated(), most)
		}
		used := 0
		s.Each(func(i uint32, e *uint32) {
			if used += int(*e); !given[i] && *e != 0 {
				t.Errorf("of %d: index %d was not given out", n, i)
			}
		})
		if used != n {
			t.Errorf("Each visits %d of %d elements", used, n)
		}
	}
}

// TestTrim: slabs, blobs, tables and pools allocate released memory again when they need it, and
// keep memory in use.
func TestTrim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Slab[uint64]
		var b Blobs
		var tab Table
		var pl Pool[uint64]
		type thing struct{ at, blob, object uint32 }
		live := map[uint64]thing{}
		next := uint64(0)
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			for range rapid.SampledFrom([]int{10, 1000, slabSize + 500}).Draw(t, "come") {
				next++
				x := thing{s.Push(next), b.Put(bytes.Repeat([]byte{byte(next)}, int(next%700))), pl.Put(&next)}
				tab.Insert(Mix(next*0x9e3779b97f4a7c15), x.at)
				live[next] = x
			}
			stay := rapid.SampledFrom([]uint64{0, 1, 2, 1000}).Draw(t, "one in so many stays")
			for n, x := range live {
				if stay > 0 && n%stay == 0 {
					continue
				}
				s.Release(x.at)
				b.Release(x.blob)
				pl.Drop(x.object)
				tab.Remove(Mix(n*0x9e3779b97f4a7c15), x.at)
				delete(live, n)
			}
			if s.Idle() {
				s.Trim()
			}
			if b.Idle() {
				b.Trim()
			}
			tab.Trim()
			pl.Trim()
			if len(live) == 0 && (s.allocated() > slabFirst || b.Bytes() > 10<<20 || len(tab.slots) > tableSmall || len(pl.list) > 2100) {
				t.Fatalf("empty, and there is room for %d elements, %d bytes, %d slots, %d objects", s.allocated(), b.Bytes(), len(tab.slots), len(pl.list))
			}
			for n, x := range live {
				if got := b.Get(x.blob); *s.At(x.at) != n || len(got) != int(n%700) || len(got) > 0 && got[0] != byte(n) || pl.At(x.object) == nil ||
					tab.Find(Mix(n*0x9e3779b97f4a7c15), func(ref uint32) bool { return ref == x.at }) != x.at {
					t.Fatalf("number %d is lost", n)
				}
			}
			if s.Len() != len(live) || tab.count != len(live) {
				t.Fatalf("%d elements and %d entries, want %d", s.Len(), tab.count, len(live))
			}
		}
	})
}

// TestColdSet: the set contains everything that was added, and little else.
func TestColdSet(t *testing.T) {
	var s ColdSet
	for i := range uint64(10_000) {
		s.Add(Mix(i) * (i % 97)) // including 0
		s.Add(Mix(i) * (i % 97))
	}
	for i := range uint64(10_000) {
		if !s.Has(Mix(i) * (i % 97)) {
			t.Fatalf("%d is not in it", i)
		}
	}
	for i := range uint64(10_000) {
		if s.Has(1 + 2*Mix(i+1<<40)*97*89) {
			t.Fatalf("%d was not added", i)
		}
	}
}

// TestSlabFillsFromTheFront: elements that are allocated again take the lowest free indices, so that
// the last chunks can be freed.
func TestSlabFillsFromTheFront(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Slab[uint32]
		free := map[uint32]bool{}
		for range 3 * slabSize {
			s.Push(1)
		}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if i := rapid.Uint32Range(1, s.End()-1).Draw(t, "release"); s.Has(i) && !free[i] {
				s.Release(i)
				free[i] = true
			}
			if rapid.Bool().Draw(t, "two") || len(free) == 0 {
				continue
			}
			lowest := slices.Min(slices.Collect(maps.Keys(free)))
			if i := s.Push(1); i != lowest {
				t.Fatalf("index %d was given out, and %d is free", i, lowest)
			}
			delete(free, lowest)
		}
		if s.Len() != 3*slabSize-len(free) {
			t.Fatalf("%d elements are in use, want %d", s.Len(), 3*slabSize-len(free))
		}
	})
}
