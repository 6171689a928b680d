package arena

// ColdSet holds hashes of ids. A hash in it says that the store may have records of a channel that
// is not in memory, and which channel that is the store decides. What is in it stays: a channel
// that has come back is found before it.
type ColdSet struct {
	slots []uint64 // 0 = empty
	count int
	zero  bool // the hash 0 is in it
}

// Bytes is the memory of the set.
func (s *ColdSet) Bytes() int64 { return ListBytes(s.slots) }

// Has reports whether the hash was added.
func (s *ColdSet) Has(hash uint64) bool {
	if hash == 0 || len(s.slots) == 0 {
		return hash == 0 && s.zero
	}
	return s.slots[s.slot(hash)] != 0
}

// slot is where the hash is, or where it would be.
func (s *ColdSet) slot(hash uint64) uint64 {
	mask := uint64(len(s.slots) - 1)
	i := hash & mask
	for s.slots[i] != 0 && s.slots[i] != hash {
		i = (i + 1) & mask
	}
	return i
}

// Add adds the hash.
func (s *ColdSet) Add(hash uint64) {
	if hash == 0 {
		s.zero = true
		return
	}
	if 8*(s.count+1) > 7*len(s.slots) {
		old := s.slots
		s.slots = make([]uint64, max(64, 2*len(old)))
		for _, h := range old {
			if h != 0 {
				s.slots[s.slot(h)] = h
			}
		}
	}
	if i := s.slot(hash); s.slots[i] == 0 {
		s.slots[i] = hash
		s.count++
	}
}
