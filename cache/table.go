package cache

import (
	"math/bits"
	"math/rand/v2"

	"github.com/zeebo/xxh3"
)

// table remembers the values in Redis, which saves a query before each write. Only the owner of a
// partition writes its keys, and the table is dropped with the ownership, so it is never stale. A
// full table drops random entries, whose values are then read from Redis again.
//
// It is a hash table with open addressing, so that a value costs one cache miss: a slot is as large
// as a cache line. It holds no pointers.
type table struct {
	slots []slot
	count int
	limit int // the number of values to remember
}

// slot has a value, or is free: known.there is false.
type slot struct {
	id    xxh3.Uint128
	known known
}

func newTable(limit int) *table { return &table{limit: max(limit, 1)} }

// home returns the slot at which the search for id begins.
func (t *table) home(id xxh3.Uint128) int {
	hi, _ := bits.Mul64(id.Lo, uint64(len(t.slots)))
	return int(hi) //nolint:gosec // below len(t.slots)
}

// find returns the slot of id, or the free one at which the search for it ends.
func (t *table) find(id xxh3.Uint128) int {
	i := t.home(id)
	for t.slots[i].known.there && t.slots[i].id != id {
		i = t.after(i)
	}
	return i
}

func (t *table) after(i int) int {
	if i++; i == len(t.slots) {
		return 0
	}
	return i
}

func (t *table) get(id xxh3.Uint128) (known, bool) {
	if t.count == 0 {
		return known{}, false
	}
	k := t.slots[t.find(id)].known
	return k, k.there
}

// put remembers a value that is in Redis: k.there must be true.
func (t *table) put(id xxh3.Uint128, k known) {
	if 4*(t.count+1) > 3*len(t.slots) {
		t.grow()
	}
	s := &t.slots[t.find(id)]
	if !s.known.there {
		t.count++
	}
	*s = slot{id, k}
	for over := min(t.count-t.limit, 2); over > 0; over-- { // a table whose limit was lowered shrinks with time
		i := rand.IntN(len(t.slots)) //nolint:gosec // any entry will do
		for !t.slots[i].known.there || t.slots[i].id == id {
			i = t.after(i)
		}
		t.free(i)
	}
}

// grow doubles the slots, or makes as many as the limit needs.
func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, max(64, len(old)+len(old)/8, min(2*len(old), t.limit+t.limit/3+8)))
	for i := range old {
		if old[i].known.there {
			t.slots[t.find(old[i].id)] = old[i]
		}
	}
}

func (t *table) drop(id xxh3.Uint128) {
	if t.count == 0 {
		return
	}
	if i := t.find(id); t.slots[i].known.there {
		t.free(i)
	}
}

// free frees a slot and moves later values back that the search would no longer find.
func (t *table) free(i int) {
	t.count--
	for j := t.after(i); t.slots[j].known.there; j = t.after(j) {
		home := t.home(t.slots[j].id)
		if between := i < j && i < home && home <= j || j < i && (i < home || home <= j); !between {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot{}
}
