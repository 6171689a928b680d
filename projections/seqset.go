package projections

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// seqset is a set of seqs with rank. It is a sorted slice while it is small and a roaring bitmap (runs, arrays or
// bitmaps per 65,536 seqs) once it is not. Its stored form is one record per 65,536 seqs that has any, a function of
// the members alone. The zero seqset is empty.
type seqset struct {
	small []uint32
	big   *roaring.Bitmap
	dirty []uint16 // high halves of seqs whose stored record is out of date
}

const seqsetSmall = 64

func (s *seqset) touch(seq uint32) {
	hi := uint16(seq >> 16)
	if !slices.Contains(s.dirty, hi) {
		s.dirty = append(s.dirty, hi)
	}
}

// clone is a copy that no change of s reaches; it is read only.
func (s *seqset) clone() *seqset {
	o := &seqset{small: slices.Clone(s.small)}
	if s.big != nil {
		o.big = s.big.Clone()
	}
	return o
}

// add reports whether seq was new.
func (s *seqset) add(seq uint32) bool {
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

// remove reports whether seq was there.
func (s *seqset) remove(seq uint32) bool {
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

// removeTo removes all members <= seq.
func (s *seqset) removeTo(seq uint32) {
	if s.empty() || s.min() > seq {
		return
	}
	if s.big != nil {
		for m := s.next(0); m != 0 && m <= seq; m = s.next((m>>16 + 1) << 16) {
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

// removeFrom removes all members >= seq and reports whether there were any.
func (s *seqset) removeFrom(seq uint32) bool {
	any := false
	for m := s.next(seq); m != 0; m = s.next(seq) {
		s.remove(m)
		any = true
	}
	return any
}

func (s *seqset) contains(seq uint32) bool {
	if s.big != nil {
		return s.big.Contains(seq)
	}
	_, ok := slices.BinarySearch(s.small, seq)
	return ok
}

func (s *seqset) empty() bool { return s.count() == 0 }

func (s *seqset) count() uint32 {
	if s.big != nil {
		return uint32(s.big.GetCardinality())
	}
	return uint32(len(s.small))
}

func (s *seqset) min() uint32 { return s.next(0) }

func (s *seqset) max() uint32 {
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

// rank is the number of members <= seq.
func (s *seqset) rank(seq uint32) uint32 {
	if s.big != nil {
		return uint32(s.big.Rank(seq))
	}
	i, ok := slices.BinarySearch(s.small, seq)
	if ok {
		i++
	}
	return uint32(i)
}

// above is the number of members > seq.
func (s *seqset) above(seq uint32) uint32 { return s.count() - s.rank(seq) }

// common is the number of members > seq that both sets have. It costs the smaller of the two.
func (s *seqset) common(o *seqset, seq uint32) (n uint32) {
	if s.count() > o.count() {
		s, o = o, s
	}
	if s.max() <= seq || o.max() <= seq {
		return 0
	}
	if s.big != nil && o.big != nil && seq < s.min() {
		return uint32(s.big.AndCardinality(o.big))
	}
	for m := s.next(seq + 1); m != 0; m = s.next(m + 1) {
		if o.contains(m) {
			n++
		}
	}
	return n
}

// next is the smallest member >= seq, 0 if none.
func (s *seqset) next(seq uint32) uint32 {
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

// nextAbsent is the smallest seq >= from that is no member.
func (s *seqset) nextAbsent(from uint32) uint32 {
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

// prevAbsent is the largest seq <= from that is no member; 0 counts as absent.
func (s *seqset) prevAbsent(from uint32) uint32 {
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

// run is the number of members in a row from seq, which is one, upwards (dir 1) or downwards (-1), by bisection over
// ranks: roaring's own NextAbsentValue and PreviousAbsentValue are wrong above 65,535 (v2.30.0 shifts the high half
// twice).
func (s *seqset) run(seq uint32, dir int64) uint32 {
	at := s.rank(seq)
	whole := func(k int64) bool { // up: seq+1 to seq+k are members; down: seq-k+1 to seq are
		end := int64(seq) + dir*k
		return end >= 0 && end < 1<<32 && (int64(s.rank(uint32(end)))-int64(at))*dir == k
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

// newest appends up to n largest members > seq, ascending.
func (s *seqset) newest(dst []uint32, seq uint32, n int) []uint32 {
	skip := max(0, int(s.count())-n, int(s.rank(seq)))
	if s.big == nil {
		return append(dst, s.small[skip:]...)
	}
	start := len(dst)
	it := s.big.ReverseIterator()
	for k := skip; k < int(s.count()) && it.HasNext(); k++ {
		dst = append(dst, it.Next())
	}
	slices.Reverse(dst[start:])
	return dst
}
