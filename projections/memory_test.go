package projections

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestTable drives a table and a map through inserts, removes and lookups, with few tags so that they collide.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tab table
		keys := map[uint32]uint64{} // ref -> hash
		spreadOver := rapid.SampledFrom([]uint64{3, 50, 1 << 40}).Draw(t, "hashes")
		for next := uint32(1); next < 300; next++ {
			h := mix(rapid.Uint64Range(0, spreadOver).Draw(t, "hash"))
			tab.insert(h, next)
			keys[next] = h
			if rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				gone := rapid.Uint32Range(1, next).Draw(t, "gone")
				if h, ok := keys[gone]; ok {
					tab.remove(h, gone)
					delete(keys, gone)
				}
			}
		}
		if tab.count != len(keys) {
			t.Fatalf("count %d, want %d", tab.count, len(keys))
		}
		for ref := uint32(1); ref < 300; ref++ {
			h, want := keys[ref]
			got := tab.find(h, func(r uint32) bool { return r == ref })
			if (got == ref) != want {
				t.Fatalf("find(%d) = %d, known %t", ref, got, want)
			}
		}
	})
}

// TestBlobs checks that blobs of all sizes keep their bytes while others come and go.
func TestBlobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s blobs
		live := map[uint32][]byte{}
		size := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, 40_000))
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			b := bytes.Repeat([]byte{byte(i)}, size.Draw(t, "size"))
			ref := s.put(b)
			if _, taken := live[ref]; taken || ref == 0 {
				t.Fatalf("reference %d given twice", ref)
			}
			live[ref] = b
			for ref := range live {
				if rapid.IntRange(0, 9).Draw(t, "release") == 0 {
					s.release(ref)
					delete(live, ref)
				}
				break
			}
		}
		for ref, want := range live {
			if !bytes.Equal(s.get(ref), want) {
				t.Fatalf("blob %x changed", ref)
			}
			s.release(ref)
		}
		if s.live != 0 {
			t.Fatalf("%d bytes are said to be in use after all were released", s.live)
		}
	})
}

// TestSlab: indices are used again, zeroed, and addresses stay valid over growth.
func TestSlab(t *testing.T) {
	var s slab[[4]int]
	first := s.alloc()
	s.at(first)[0] = 7
	p := s.at(first)
	for range 3 * slabSize {
		s.alloc()
	}
	if p != s.at(first) || p[0] != 7 || s.len() != 3*slabSize+1 {
		t.Fatalf("moved, or %d elements", s.len())
	}
	s.release(first)
	if again := s.alloc(); again != first || s.at(again)[0] != 0 {
		t.Fatalf("index %d instead of %d, value %d", again, first, s.at(again)[0])
	}
}

// TestOverlay: the newest record of a key counts, a deletion is told from an unknown key.
func TestOverlay(t *testing.T) {
	o := &overlay{}
	for i := range 2000 {
		o.put([]byte(fmt.Sprintf("key%d", i%700)), []byte(fmt.Sprintf("val%d", i)), i%7 == 3)
	}
	for k := range 700 {
		last := k
		for last+700 < 2000 {
			last += 700
		}
		v, deleted, ok := o.get([]byte(fmt.Sprintf("key%d", k)))
		if !ok || deleted != (last%7 == 3) || string(v) != fmt.Sprintf("val%d", last) {
			t.Fatalf("key%d: %q deleted %t known %t, want val%d", k, v, deleted, ok, last)
		}
	}
	if _, _, ok := o.get([]byte("other")); ok {
		t.Fatal("an unknown key is known")
	}
	if _, _, ok := (*overlay)(nil).get([]byte("key1")); ok {
		t.Fatal("no overlay knows a key")
	}
}

// TestWaitHeap pops keys in order.
func TestWaitHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h waitHeap
		n := rapid.IntRange(0, 60).Draw(t, "n")
		for i := range n {
			h.push(rapid.Int64Range(-5, 30).Draw(t, "key"), uint32(i))
		}
		last := int64(-10)
		for range n {
			key := h[0].key
			h.pop()
			if key < last {
				t.Fatalf("%d after %d", key, last)
			}
			last = key
		}
		if len(h) != 0 {
			t.Fatalf("%d left", len(h))
		}
	})
}
