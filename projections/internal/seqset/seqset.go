package seqset

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/tidemark/tidemark/projections/internal/arena"
)

// Set is a set of seqs with rank. A small set is a sorted slice, a larger one a roaring bitmap
// (runs, arrays or bitmaps per 65,536 seqs). Its stored form is one record for each range of 65,536
// seqs with members, a function of the members only. The zero Set is empty.
type Set struct {
	small []uint32
	big   *roaring.Bitmap
	Dirty []uint16 // high halves of seqs whose stored record is out of date
}

const seqsetSmall = 64

// Peek loads the memory that every query of the set reads first.
func (s *Set) Peek() uint64 {
	if s.big != nil {
		return 1
	}
	return uint64(len(s.small))
}

// PeekLast loads the memory that Max reads.
func (s *Set) PeekLast() uint64 {
	if n := len(s.small); n > 0 {
		return uint64(s.small[n-1])
	}
	return 0
}

// Contains reports whether seq is a member.
func (s *Set) Contains(seq uint32) bool {
	if s.big != nil {
		return s.big.Contains(seq)
	}
	_, ok := slices.BinarySearch(s.small, seq)
	return ok
}

// Empty reports whether there are no members.
func (s *Set) Empty() bool { return s.Count() == 0 }

// Count is the number of members.
func (s *Set) Count() uint32 {
	if s.big != nil {
		return uint32(s.big.GetCardinality())
	}
	return uint32(len(s.small))
}

// min is the smallest member, 0 if there is none.
func (s *Set) min() uint32 { return s.Next(0) }

// Max is the largest member, 0 if there is none.
func (s *Set) Max() uint32 {
	if s.big != nil {
		if s.big.IsEmpty() {
			return 0
		}
		return s.big.Maximum()
	}
	if len(s.small) == 0 {
		return 0
	}
	return s.small[len(s.small)-1]
}

// Rank is the number of members <= seq.
func (s *Set) Rank(seq uint32) uint32 {
	if s.big != nil {
		return uint32(s.big.Rank(seq))
	}
	i, ok := slices.BinarySearch(s.small, seq)
	if ok {
		i++
	}
	return uint32(i)
}

// Above is the number of members > seq.
func (s *Set) Above(seq uint32) uint32 { return s.Count() - s.Rank(seq) }

// Common returns the number of members > seq that both sets have. Its cost is proportional to the
// smaller set.
func (s *Set) Common(o *Set, seq uint32) (n uint32) {
	if s.Count() > o.Count() {
		s, o = o, s
	}
	if s.Max() <= seq || o.Max() <= seq {
		return 0
	}
	if s.big != nil && o.big != nil && seq < s.min() {
		return uint32(s.big.AndCardinality(o.big))
	}
	for m := s.Next(seq + 1); m != 0; m = s.Next(m + 1) {
		if o.Contains(m) {
			n++
		}
	}
	return n
}

// Next is the smallest member >= seq, 0 if none.
func (s *Set) Next(seq uint32) uint32 {
	if s.big != nil {
		if v := s.big.NextValue(seq); v >= 0 {
			return uint32(v)
		}
		return 0
	}
	i, _ := slices.BinarySearch(s.small, seq)
	if i == len(s.small) {
		return 0
	}
	return s.small[i]
}

// Prev is the largest member <= seq, 0 if none.
func (s *Set) Prev(seq uint32) uint32 {
	n := s.Rank(seq)
	if n == 0 {
		return 0
	}
	if s.big != nil {
		v, err := s.big.Select(n - 1)
		if err != nil {
			panic(err) // there are n members
		}
		return v
	}
	return s.small[n-1]
}

// NextAbsent is the smallest seq >= from that is not a member.
func (s *Set) NextAbsent(from uint32) uint32 {
	if s.big != nil {
		if !s.big.Contains(from) {
			return from
		}
		return from + s.run(from, 1)
	}
	i, _ := slices.BinarySearch(s.small, from)
	for ; i < len(s.small) && s.small[i] == from; i++ {
		from++
	}
	return from
}

// PrevAbsent is the largest seq <= from that is not a member; 0 counts as absent.
func (s *Set) PrevAbsent(from uint32) uint32 {
	if s.big != nil {
		if !s.big.Contains(from) {
			return from
		}
		return from - s.run(from, -1)
	}
	i, ok := slices.BinarySearch(s.small, from)
	if !ok {
		return from
	}
	for ; i >= 0 && s.small[i] == from; i-- {
		from--
	}
	return from
}

// run returns the number of consecutive members from seq, a member, upwards (dir 1) or downwards
// (-1), by bisection over ranks. roaring's own NextAbsentValue and PreviousAbsentValue are wrong
// above 65,535 (v2.30.0 shifts the high half twice).
func (s *Set) run(seq uint32, dir int64) uint32 {
	at := s.Rank(seq)
	whole := func(k int64) bool { // up: seq+1 to seq+k are members; down: seq-k+1 to seq are
		end := int64(seq) + dir*k
		return end >= 0 && end < 1<<32 && (int64(s.Rank(uint32(end)))-int64(at))*dir == k
	}
	lo, hi := int64(0), int64(1)
	for whole(hi) {
		lo, hi = hi, 2*hi
	}
	for lo+1 < hi {
		if mid := (lo + hi) / 2; whole(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	if dir > 0 {
		lo++
	}
	return uint32(lo)
}

// Newest appends up to n largest members > seq, ascending.
func (s *Set) Newest(dst []uint32, seq uint32, n int) []uint32 {
	skip := max(0, int(s.Count())-n, int(s.Rank(seq)))
	if s.big == nil {
		return append(dst, s.small[skip:]...)
	}
	start := len(dst)
	it := s.big.ReverseIterator()
	for k := skip; k < int(s.Count()) && it.HasNext(); k++ {
		dst = append(dst, it.Next())
	}
	slices.Reverse(dst[start:])
	return dst
}

// bitmapOverhead is the memory of a roaring bitmap besides the bytes of its containers: the bitmap
// itself and its lists of containers.
const bitmapOverhead = 176

// HeapBytes is the memory of the set.
func (s *Set) HeapBytes() int64 {
	n := arena.ListBytes(s.small) // without Dirty, which belongs to the cut
	if s.big != nil {
		n += int64(s.big.GetSizeInBytes()) + bitmapOverhead
	}
	return n
}
