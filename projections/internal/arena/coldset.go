package arena

// ColdSet holds hashes of ids. If it has a hash, the store may have records of a channel with that
// hash that is not in memory; only the store has the channel's id. Hashes are never removed,
// because lookups find a loaded channel in memory first.
type ColdSet struct {
	slots []uint64 // 0 = empty
	count int
	zero  bool // whether the set has the hash 0
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

// slot returns the slot of the hash, or the slot where Add would put it.
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
