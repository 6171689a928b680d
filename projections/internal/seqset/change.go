package seqset

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

func (s *Set) touch(seq uint32) {
	hi := uint16(seq >> 16)
	if !slices.Contains(s.Dirty, hi) {
		s.Dirty = append(s.Dirty, hi)
	}
}

// Clone returns a read-only copy that later changes of s do not affect.
func (s *Set) Clone() *Set {
	o := &Set{small: slices.Clone(s.small)}
	if s.big != nil {
		o.big = s.big.Clone()
	}
	return o
}

// Add adds seq, and reports whether it was new.
func (s *Set) Add(seq uint32) bool {
	if s.big != nil {
		if !s.big.CheckedAdd(seq) {
			return false
		}
		s.touch(seq)
		return true
	}
	i, ok := slices.BinarySearch(s.small, seq)
	if ok {
		return false
	}
	s.touch(seq)
	if len(s.small) < seqsetSmall {
		s.small = slices.Insert(s.small, i, seq)
		return true
	}
	s.big = roaring.BitmapOf(s.small...)
	s.big.Add(seq)
	s.small = nil
	return true
}

// Remove removes seq, and reports whether it was there.
func (s *Set) Remove(seq uint32) bool {
	if s.big != nil {
		if !s.big.CheckedRemove(seq) {
			return false
		}
		s.touch(seq)
		return true
	}
	i, ok := slices.BinarySearch(s.small, seq)
	if ok {
		s.small = slices.Delete(s.small, i, i+1)
		s.touch(seq)
	}
	return ok
}

// RemoveTo removes all members <= seq.
func (s *Set) RemoveTo(seq uint32) {
	if s.Empty() || s.min() > seq {
		return
	}
	if s.big != nil {
		for m := s.Next(0); m != 0 && m <= seq; m = s.Next((m>>16 + 1) << 16) {
			s.touch(m)
			if m>>16 == seq>>16 || m>>16 == 0xffff {
				break
			}
		}
		s.big.RemoveRange(0, uint64(seq)+1)
		return
	}
	i, _ := slices.BinarySearch(s.small, seq+1)
	for _, m := range s.small[:i] {
		s.touch(m)
	}
	s.small = slices.Delete(s.small, 0, i)
}

// RemoveFrom removes all members >= seq and reports whether there were any.
func (s *Set) RemoveFrom(seq uint32) bool {
	any := false
	for m := s.Next(seq); m != 0; m = s.Next(seq) {
		s.Remove(m)
		any = true
	}
	return any
}
