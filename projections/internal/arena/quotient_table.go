package arena

import "math/bits"

// QuotientTable is a Table with slots of four bytes, for many entries. A slot stores few bits of the
// hash. As in Cleary's compact hashing, the home slot of an entry gives the low bits of its hash. The
// entry stores its distance from there and the next bits. While references are below the number of
// slots, these are 28 bits of the hash.
//
// Entries that are far from their home slots, and tables with few entries of large references, cannot
// tell the hash of an entry. Then the table calls HashOf.
type QuotientTable struct {
	// HashOf returns the hash under which a reference was inserted. It must be set before the first
	// Insert.
	HashOf func(ref uint32) uint64

	slots   []uint32 // bits of the hash | distance | ref; 0 = empty
	count   int
	refBits int // of a slot; references are below 1<<refBits
}

const (
	distanceBits = 4
	far          = 1<<distanceBits - 1 // this distance or a larger one
	payloadBits  = 32 - distanceBits   // of a slot, for the reference and the bits of the hash

	// MaxRef is the largest reference in a QuotientTable: 268,435,455.
	MaxRef = 1<<payloadBits - 1
)

// key returns the upper bits of a slot for hash in a table of this size, without the distance.
func (t *QuotientTable) key(hash uint64) uint32 {
	return uint32(hash>>t.slotBits()) & (1<<(payloadBits-t.refBits) - 1) << distanceBits
}

func (t *QuotientTable) slotBits() int { return bits.TrailingZeros(uint(len(t.slots))) }

func (t *QuotientTable) ref(e uint32) uint32 { return e & (1<<t.refBits - 1) }

// Find returns the first reference under hash for which same reports true, or 0.
func (t *QuotientTable) Find(hash uint64, same func(ref uint32) bool) uint32 {
	if len(t.slots) == 0 {
		return 0
	}
	mask, key := uint64(len(t.slots)-1), t.key(hash)
	for i, distance := hash&mask, uint32(0); ; i, distance = (i+1)&mask, distance+1 {
		e := t.slots[i]
		if e == 0 {
			return 0
		}
		if e>>t.refBits == key|min(distance, far) && same(t.ref(e)) {
			return t.ref(e)
		}
	}
}

// First returns the first reference that may be under hash, unverified, or 0.
func (t *QuotientTable) First(hash uint64) uint32 {
	if len(t.slots) == 0 {
		return 0
	}
	mask, key := uint64(len(t.slots)-1), t.key(hash)
	for i, distance := hash&mask, uint32(0); ; i, distance = (i+1)&mask, distance+1 {
		if e := t.slots[i]; e == 0 || e>>t.refBits == key|min(distance, far) {
			return t.ref(e)
		}
	}
}

// Peek loads the home slot of hash.
func (t *QuotientTable) Peek(hash uint64) uint64 {
	if len(t.slots) == 0 {
		return 0
	}
	return uint64(t.slots[hash&uint64(len(t.slots)-1)])
}

// Insert adds ref under hash. ref must not be in the table yet, and not be 0. Insert panics if ref is
// above MaxRef.
func (t *QuotientTable) Insert(hash uint64, ref uint32) {
	if ref > MaxRef {
		panic("arena: a reference is above MaxRef")
	}
	if full := 4*(t.count+1) > 3*len(t.slots); full || ref>>t.refBits != 0 {
		slots := len(t.slots)
		if full {
			slots = max(64, 2*slots)
		}
		t.resize(slots, ref)
	}
	t.put(hash, ref)
	t.count++
}

func (t *QuotientTable) put(hash uint64, ref uint32) {
	mask, distance := uint64(len(t.slots)-1), uint32(0)
	i := hash & mask
	for ; t.slots[i] != 0; distance++ {
		i = (i + 1) & mask
	}
	t.slots[i] = (t.key(hash)|min(distance, far))<<t.refBits | ref
}

// hashAt returns the hash of the entry e in slot i, as far as the table needs it. known is how many of
// its low bits must be right.
func (t *QuotientTable) hashAt(i uint64, e uint32, known int) uint64 {
	upper := e >> t.refBits
	distance := upper & far
	if distance == far || known > t.slotBits()+payloadBits-t.refBits {
		return t.HashOf(t.ref(e))
	}
	home := (i - uint64(distance)) & uint64(len(t.slots)-1)
	return home | uint64(upper>>distanceBits)<<t.slotBits()
}

// resize gives the table this many slots, with room in each for largest and for the references that
// are there.
func (t *QuotientTable) resize(slots int, largest uint32) {
	for _, e := range t.slots {
		largest = max(largest, t.ref(e))
	}
	old := *t
	t.slots = make([]uint32, slots)
	t.refBits = max(bits.Len32(largest), min(t.slotBits(), payloadBits))
	adviseHuge(t.slots)
	known := t.slotBits() + payloadBits - t.refBits
	for i, e := range old.slots {
		if e != 0 {
			t.put(old.hashAt(uint64(i), e, known), old.ref(e))
		}
	}
}

// Remove deletes ref under hash and shifts later entries back.
func (t *QuotientTable) Remove(hash uint64, ref uint32) {
	if len(t.slots) == 0 {
		return
	}
	mask := uint64(len(t.slots) - 1)
	i := hash & mask
	for t.ref(t.slots[i]) != ref {
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
		home := t.hashAt(j, e, t.slotBits()) & mask
		if distance := (i - home) & mask; (j-home)&mask > distance {
			t.slots[i] = e&^(far<<t.refBits) | uint32(min(distance, far))<<t.refBits
			i = j
		}
	}
	t.slots[i] = 0
	t.count--
}

// Trim shrinks a table that is nearly empty.
func (t *QuotientTable) Trim() {
	if slots := trimmed(len(t.slots), t.count); slots < len(t.slots) {
		t.resize(slots, 0)
	}
}

// Bytes returns the table's size in memory.
func (t *QuotientTable) Bytes() int64 { return int64(len(t.slots)) * 4 }
