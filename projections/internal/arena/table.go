package arena

// Table is an open-addressing hash table from a 64-bit hash to a non-zero uint32 reference. It
// stores no keys. A lookup offers candidates with a matching 32-bit tag and the caller verifies
// them, so equal hashes never count as equal keys.
type Table struct {
	slots []uint64 // tag<<32 | ref; 0 = empty
	count int
}

// Find returns the first reference under hash for which same reports true, or 0.
func (t *Table) Find(hash uint64, same func(ref uint32) bool) uint32 {
	if len(t.slots) == 0 {
		return 0
	}
	mask := uint64(len(t.slots) - 1)
	tag := hash >> 32
	for i := hash & mask; ; i = (i + 1) & mask {
		e := t.slots[i]
		if e == 0 {
			return 0
		}
		if e>>32 == tag && same(uint32(e)) {
			return uint32(e)
		}
	}
}

// Insert adds ref under hash. It must not be there yet.
func (t *Table) Insert(hash uint64, ref uint32) {
	if t.full() {
		t.grow()
	}
	t.put(hash>>32, hash, ref)
	t.count++
}

// full reports whether the table has to grow before the next Insert.
func (t *Table) full() bool { return 4*(t.count+1) > 3*len(t.slots) }

func (t *Table) put(tag, at uint64, ref uint32) {
	mask := uint64(len(t.slots) - 1)
	i := at & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = tag<<32 | uint64(ref)
}

// grow doubles the table. It recovers the home slot of an entry from its tag, so the tag must
// determine the slot: Mix makes the low half of a hash a function of its high half.
func (t *Table) grow() {
	t.resize(max(64, 2*len(t.slots)))
}

func (t *Table) resize(slots int) {
	old := t.slots
	t.slots = make([]uint64, slots)
	adviseHuge(t.slots)
	for _, e := range old {
		if e != 0 {
			t.put(e>>32, spread(uint32(e>>32)), uint32(e))
		}
	}
}

// Remove deletes ref under hash and shifts later entries back.
func (t *Table) Remove(hash uint64, ref uint32) {
	t.remove(hash, ref, func(slot *uint64, e uint64) { *slot = e })
}

// remove is Remove with set to write the slots.
func (t *Table) remove(hash uint64, ref uint32, set func(slot *uint64, e uint64)) {
	if len(t.slots) == 0 {
		return
	}
	mask := uint64(len(t.slots) - 1)
	i := hash & mask
	for uint32(t.slots[i]) != ref {
		if t.slots[i] == 0 {
			return
		}
		i = (i + 1) & mask
	}
	for j := i; ; {
		j = (j + 1) & mask
		e := t.slots[j]
		if e == 0 {
			break
		}
		home := spread(uint32(e>>32)) & mask
		if (j-home)&mask >= (j-i)&mask {
			set(&t.slots[i], e)
			i = j
		}
	}
	set(&t.slots[i], 0)
	t.count--
}

// tableSmall is the number of slots that Trim does not go below.
const tableSmall = 4096

// Trim shrinks a table that is nearly empty.
func (t *Table) Trim() {
	if slots := trimmed(len(t.slots), t.count); slots < len(t.slots) {
		t.resize(slots)
	}
}

// trimmed returns how many of a table's slots Trim keeps for count entries.
func trimmed(slots, count int) int {
	if 8*count > slots {
		return slots
	}
	for slots > tableSmall && 4*count < slots {
		slots /= 2
	}
	return slots
}

// Bytes returns the table's size in memory.
func (t *Table) Bytes() int64 { return int64(len(t.slots)) * 8 }

// Mix turns any well-distributed 64-bit value into a hash for Table: a tag of 32 bits, and below it
// the home slot, which the tag determines.
func Mix(h uint64) uint64 {
	tag := uint32(h>>32) ^ uint32(h)
	return uint64(tag)<<32 | spread(tag)&0xffffffff
}

// spread is a bijection of 32 bits, so that tables beyond 2^16 slots do not cluster.
func spread(tag uint32) uint64 {
	x := tag
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	x *= 0x846ca68b
	x ^= x >> 16
	return uint64(x)
}

// PairHash returns the hash of a (channel, user) pair.
func PairHash(ch, user uint32) uint64 {
	x := uint64(ch)<<32 | uint64(user)
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	return Mix(x)
}

// Peek loads the home slot of hash.
func (t *Table) Peek(hash uint64) uint64 {
	if len(t.slots) == 0 {
		return 0
	}
	return t.slots[hash&uint64(len(t.slots)-1)]
}

// First returns the first reference with a matching tag, unverified, or 0.
func (t *Table) First(hash uint64) uint32 {
	if len(t.slots) == 0 {
		return 0
	}
	mask, tag := uint64(len(t.slots)-1), hash>>32
	for i := hash & mask; ; i = (i + 1) & mask {
		if e := t.slots[i]; e == 0 || e>>32 == tag {
			return uint32(e)
		}
	}
}
