package arena

import "sync/atomic"

// SharedTable is a Table whose May runs concurrently with writes. All other methods have the
// requirements of a Table: one writer, and no reader meanwhile.
type SharedTable struct {
	Table
	shown atomic.Pointer[[]uint64] // the slots that May reads
	moves atomic.Uint32            // odd while entries move
}

// May reports whether there may be an entry under hash. It takes no lock and never misses an entry
// whose Insert has returned. It returns true while entries move, and for any equal tag.
func (t *SharedTable) May(hash uint64) bool {
	before := t.moves.Load()
	slots := t.shown.Load()
	return slots != nil && (before&1 != 0 || mayHave(*slots, hash) || t.moves.Load() != before)
}

// Moves changes whenever entries move, with each Remove. It takes no lock.
func (t *SharedTable) Moves() uint32 { return t.moves.Load() }

// Insert is Table.Insert.
func (t *SharedTable) Insert(hash uint64, ref uint32) {
	if t.full() {
		t.grow()
		t.show()
	}
	mask := uint64(len(t.slots) - 1)
	i := hash & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	atomic.StoreUint64(&t.slots[i], hash>>32<<32|uint64(ref))
	t.count++
}

// Remove is Table.Remove.
func (t *SharedTable) Remove(hash uint64, ref uint32) {
	t.moves.Add(1)
	defer t.moves.Add(1)
	t.remove(hash, ref, atomic.StoreUint64)
}

// Trim is Table.Trim.
func (t *SharedTable) Trim() {
	before := len(t.slots)
	t.Table.Trim()
	if len(t.slots) != before {
		t.show()
	}
}

func (t *SharedTable) show() {
	slots := t.slots
	t.shown.Store(&slots)
}

// Hashes are the hashes of a SharedTable that is no longer written. They stay valid when the
// entries' targets are gone.
type Hashes struct{ slots []uint64 }

// Hashes returns the hashes of the entries. The table must not be written after that.
func (t *SharedTable) Hashes() Hashes { return Hashes{t.slots} }

// May is SharedTable.May.
func (h Hashes) May(hash uint64) bool { return mayHave(h.slots, hash) }

// mayHave reports whether a slot has the tag of hash. A concurrent writer may keep the search from
// reaching its end; then mayHave returns true.
func mayHave(slots []uint64, hash uint64) bool {
	if len(slots) == 0 {
		return false
	}
	mask, tag := uint64(len(slots)-1), hash>>32
	for n, i := 0, hash&mask; n < len(slots); n, i = n+1, (i+1)&mask {
		e := atomic.LoadUint64(&slots[i])
		if e == 0 {
			return false
		}
		if e>>32 == tag {
			return true
		}
	}
	return true
}
