package cache

import (
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

// A full table drops other entries, never the newest, and has no more than its limit.
func TestTableForgets(t *testing.T) {
	tab := newTable(10)
	id := func(i int) xxh3.Uint128 { return xxh3.Uint128{Lo: uint64(i)} }
	for i := range 1000 {
		tab.put(id(i), known{seq: uint32(i), there: true})
		if k, ok := tab.get(id(i)); !ok || k.seq != uint32(i) {
			t.Fatalf("entry %d was forgotten at once", i)
		}
		if tab.count > 10 {
			t.Fatalf("%d entries, limit 10", tab.count)
		}
	}
	tab.limit = 2
	for i := range 20 {
		tab.put(id(i), known{there: true})
	}
	if tab.count != 2 {
		t.Errorf("%d entries after the limit was lowered to 2", tab.count)
	}
	tab.drop(id(19))
	if _, ok := tab.get(id(19)); ok {
		t.Error("a dropped entry is still there")
	}
}

// TestPropertyTable: a table that does not reach its limit is a map, also if many ids begin at the
// same slot, and at the last one.
func TestPropertyTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab, want := newTable(1000), map[xxh3.Uint128]known{}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			id := xxh3.Uint128{Lo: rapid.SampledFrom([]uint64{0, 1, 1 << 60, 1 << 63, 1<<64 - 1}).Draw(t, "place"), Hi: rapid.Uint64Range(0, 40).Draw(t, "id")}
			if rapid.IntRange(0, 2).Draw(t, "what") == 0 {
				tab.drop(id)
				delete(want, id)
			} else {
				k := known{seq: rapid.Uint32().Draw(t, "seq"), there: true}
				tab.put(id, k)
				want[id] = k
			}
			if tab.count != len(want) {
				t.Fatalf("%d entries, want %d", tab.count, len(want))
			}
		}
		for hi := range uint64(41) {
			for _, lo := range []uint64{0, 1, 1 << 60, 1 << 63, 1<<64 - 1} {
				id := xxh3.Uint128{Lo: lo, Hi: hi}
				k, ok := tab.get(id)
				if w, there := want[id]; ok != there || k != w {
					t.Fatalf("%v: %v %v, want %v %v", id, k, ok, w, there)
				}
			}
		}
	})
}

// TestPropertyFullTable: a table at its limit has the newest value and no more than its limit, and
// everything that it has is right.
func TestPropertyFullTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 20
		tab, put := newTable(limit), map[xxh3.Uint128]known{}
		for i := range rapid.IntRange(1, 300).Draw(t, "steps") {
			id := xxh3.Uint128{Lo: rapid.SampledFrom([]uint64{0, 1 << 63, 1<<64 - 1}).Draw(t, "place"), Hi: rapid.Uint64Range(0, 60).Draw(t, "id")}
			put[id] = known{at: int64(i), there: true}
			tab.put(id, put[id])
			if k, ok := tab.get(id); !ok || k != put[id] {
				t.Fatalf("the newest value is %v %v, want %v", k, ok, put[id])
			}
			has := 0
			for id, want := range put {
				if k, ok := tab.get(id); ok {
					has++
					if k != want {
						t.Fatalf("%v has %v, want %v", id, k, want)
					}
				}
			}
			if has != tab.count || has > limit || has < min(len(put), limit) {
				t.Fatalf("%d values are found, the count is %d, the limit %d, and %d were put", has, tab.count, limit, len(put))
			}
		}
	})
}
