package seqset

import (
	"encoding/binary"
	"fmt"
)

// Encode appends the members with high half hi: a form byte, then gaps and run lengths (form 0) or
// 8,192 bytes of bitmap (form 1), whichever is shorter. It appends nothing if there are no such
// members.
func (s *Set) Encode(dst []byte, hi uint16) []byte {
	base := uint32(hi) << 16
	last := base | 0xffff
	m := s.Next(base)
	if m == 0 || m > last {
		return dst
	}
	start := len(dst)
	dst = append(dst, 0)
	at := base
	for m != 0 && m <= last {
		end := s.NextAbsent(m)
		if end > last || end == 0 {
			end = last + 1
		}
		dst = binary.AppendUvarint(dst, uint64(m-at))
		dst = binary.AppendUvarint(dst, uint64(end-m))
		at = end
		if end == last+1 {
			break
		}
		m = s.Next(end)
	}
	if len(dst)-start-1 <= 8192 {
		return dst
	}
	dst = append(dst[:start], 1)
	dst = append(dst, make([]byte, 8192)...)
	bits := dst[start+1:]
	for m := s.Next(base); m != 0 && m <= last; m = s.Next(m + 1) {
		bits[(m-base)>>3] |= 1 << ((m - base) & 7)
		if m == last {
			break
		}
	}
	return dst
}

// Decode adds the members of a record to s, without making it dirty.
func (s *Set) Decode(hi uint16, v []byte) error {
	base := uint32(hi) << 16
	if len(v) == 0 || v[0] > 1 {
		return fmt.Errorf("set record of unknown form")
	}
	if v[0] == 1 {
		if len(v) != 8193 {
			return fmt.Errorf("set bitmap of %d bytes instead of 8192", len(v)-1)
		}
		for i, b := range v[1:] {
			for j := range 8 {
				if b&(1<<j) != 0 {
					s.Add(base + uint32(i*8+j))
				}
			}
		}
		s.Dirty = s.Dirty[:0]
		return nil
	}
	v = v[1:]
	at := uint64(0)
	for len(v) > 0 {
		gap, n := binary.Uvarint(v)
		if n <= 0 {
			return fmt.Errorf("set record cut short")
		}
		run, k := binary.Uvarint(v[n:])
		if k <= 0 || at+gap+run > 1<<16 {
			return fmt.Errorf("set record cut short or beyond its range")
		}
		v = v[n+k:]
		at += gap
		for i := range run {
			s.Add(base + uint32(at+i))
		}
		at += run
	}
	s.Dirty = s.Dirty[:0]
	return nil
}
