package arena

import (
	"math/bits"
	"slices"
)

// A slab's first chunks are small, so that a small partition uses little memory. The others are large
// enough for huge pages, and few enough for the garbage collector. Growing copies nothing.
const (
	slabFirst = 32
	slabShift = 15
	slabSize  = 1 << slabShift
)

// chunkSize returns how many elements chunk k has. Each chunk has slabSize indices.
func chunkSize(k int) uint32 {
	if k < 3 {
		return 256 << (3 * k)
	}
	return slabSize
}

// Slab is a growing array of pointer-free elements, addressed by index. Index 0 is never given out,
// so 0 can mean none. Addresses stay valid, because chunks never move.
//
// A slab gives out the lowest free index that has memory. So elements that are allocated together
// are mostly neighbors, and the last chunks become unused when fewer elements are needed.
type Slab[T any] struct {
	first  []T
	spare  spots    // of first
	chunks [][]T    // nil: Trim freed it
	spots  []spots  // of each chunk
	open   []uint64 // a bit for each chunk with a free spot; no others are set
	used   []uint32 // elements in use, of each chunk
	next   uint32
	live   int
	absent int // chunks that Trim freed
}

// spots has a bit for each free element of a chunk.
type spots struct {
	free []uint64
	some []uint64 // a bit for each word of free that is not 0
}

// newSpots returns spots for n elements, all of which are free.
func newSpots(n uint32) spots {
	words := (n + 63) / 64
	all := make([]uint64, words+(words+63)/64)
	s := spots{free: all[:words], some: all[words:]}
	s.fill(0, n)
	return s
}

// fill frees the spots from from on, up to end.
func (s *spots) fill(from, end uint32) {
	for i := from; i < end; i++ {
		s.put(i)
	}
}

func (s *spots) put(i uint32) {
	s.free[i>>6] |= 1 << (i & 63)
	s.some[i>>12] |= 1 << (i >> 6 & 63)
}

// take returns the lowest free spot, and whether there is one.
func (s *spots) take() (uint32, bool) {
	for i, words := range s.some {
		if words == 0 {
			continue
		}
		w := i<<6 + bits.TrailingZeros64(words)
		at := bits.TrailingZeros64(s.free[w])
		if s.free[w] &= s.free[w] - 1; s.free[w] == 0 {
			s.some[i] &= words - 1
		}
		return uint32(w<<6 + at), true
	}
	return 0, false
}

// Alloc returns the index of an element. The element is zero unless Reset released it.
func (s *Slab[T]) Alloc() uint32 {
	s.live++
	if s.next == 0 {
		s.first = make([]T, slabFirst)
		s.spare = newSpots(slabFirst)
		_, _ = s.spare.take() // index 0
	}
	i, ok := s.spare.take()
	if !ok {
		k := s.roomy()
		at, _ := s.spots[k].take()
		if s.used[k]++; s.used[k] == chunkSize(k) {
			s.open[k>>6] &^= 1 << (k & 63)
		}
		i = slabFirst + uint32(k)<<slabShift + at
	}
	s.next = max(s.next, i+1)
	return i
}

// roomy returns the first chunk with a free spot. It allocates one if there is none.
func (s *Slab[T]) roomy() int {
	for w, chunks := range s.open {
		if chunks != 0 {
			return w<<6 + bits.TrailingZeros64(chunks)
		}
	}
	k := len(s.chunks)
	if s.absent > 0 {
		for k = 0; s.chunks[k] != nil; {
			k++
		}
		s.absent--
	} else {
		s.chunks, s.spots, s.used = append(s.chunks, nil), append(s.spots, spots{}), append(s.used, 0)
		if k>>6 == len(s.open) {
			s.open = append(s.open, 0)
		}
	}
	s.chunks[k], s.spots[k] = make([]T, chunkSize(k)), newSpots(chunkSize(k))
	adviseHuge(s.chunks[k])
	s.open[k>>6] |= 1 << (k & 63)
	return k
}

// Release zeroes the element and frees its index.
func (s *Slab[T]) Release(i uint32) {
	var zero T
	*s.At(i) = zero
	s.live--
	if i < slabFirst {
		s.spare.put(i)
		return
	}
	i -= slabFirst
	k := i >> slabShift
	s.used[k]--
	s.spots[k].put(i & (slabSize - 1))
	s.open[k>>6] |= 1 << (k & 63)
}

// Push allocates an element for v, and returns its index.
func (s *Slab[T]) Push(v T) uint32 {
	i := s.Alloc()
	*s.At(i) = v
	return i
}

// Reset releases all elements of a slab that is only pushed to, and keeps their memory.
func (s *Slab[T]) Reset() {
	if s.live == 0 {
		return
	}
	s.next, s.live = 1, 0
	s.spare.fill(1, slabFirst)
	for k, n := range s.used {
		if n > 0 {
			s.spots[k].fill(0, chunkSize(k))
			s.open[k>>6] |= 1 << (k & 63)
			s.used[k] = 0
		}
	}
}

// Idle reports whether Trim can free enough memory to be worth calling.
func (s *Slab[T]) Idle() bool {
	if s.allocated()-s.live < max(int(chunkSize(0)), s.live/2) {
		return false
	}
	for k, n := range s.used {
		if n == 0 && s.chunks[k] != nil {
			return true
		}
	}
	return false
}

// Trim frees the memory of chunks without elements in use.
func (s *Slab[T]) Trim() {
	for k, n := range s.used {
		if n == 0 && s.chunks[k] != nil {
			s.chunks[k], s.spots[k] = nil, spots{}
			s.open[k>>6] &^= 1 << (k & 63)
			s.absent++
		}
	}
	last := len(s.chunks)
	for last > 0 && s.chunks[last-1] == nil {
		last--
		s.absent--
	}
	s.chunks, s.spots, s.used = s.chunks[:last], s.spots[:last], s.used[:last]
	s.next = min(s.next, uint32(slabFirst+last<<slabShift))
}

// Has reports whether an element that was given out still has memory.
func (s *Slab[T]) Has(i uint32) bool {
	if i < slabFirst {
		return i < uint32(len(s.first))
	}
	return i < s.next && (i-slabFirst)&(slabSize-1) < uint32(len(s.chunks[(i-slabFirst)>>slabShift]))
}

// allocated returns the number of elements that have memory.
func (s *Slab[T]) allocated() int {
	n := len(s.first)
	for _, c := range s.chunks {
		n += len(c)
	}
	return n
}

// At returns the address of element i.
func (s *Slab[T]) At(i uint32) *T {
	if i < slabFirst {
		return &s.first[i]
	}
	i -= slabFirst
	return &s.chunks[i>>slabShift][i&(slabSize-1)]
}

// Unused reports whether no element was ever given out. Then no memory is allocated.
func (s *Slab[T]) Unused() bool { return s.next == 0 }

// End returns the index after the largest one that was given out.
func (s *Slab[T]) End() uint32 { return s.next }

// Len returns the number of live elements.
func (s *Slab[T]) Len() int { return s.live }

// Each calls fn for every element that was ever given out and still has memory. Released elements
// are zero.
func (s *Slab[T]) Each(fn func(i uint32, e *T)) {
	for i := uint32(1); i < s.next; i++ {
		if s.Has(i) {
			fn(i, s.At(i))
		}
	}
}

// Pool is a list of objects, addressed by number; 0 means none.
type Pool[T any] struct {
	list []*T // nil: no object, or a dropped one
	free []uint32
}

// Put adds v and returns its number.
func (p *Pool[T]) Put(v *T) uint32 {
	if n := len(p.free); n > 0 {
		i := p.free[n-1]
		p.free = p.free[:n-1]
		p.list[i] = v
		return i
	}
	if len(p.list) == 0 {
		p.list = append(p.list, nil)
	}
	p.list = append(p.list, v)
	return uint32(len(p.list) - 1)
}

// At returns the object with number i.
func (p *Pool[T]) At(i uint32) *T { return p.list[i] }

// Len returns the number of objects.
func (p *Pool[T]) Len() int { return max(0, len(p.list)-1-len(p.free)) }

// Each calls fn for every object.
func (p *Pool[T]) Each(fn func(*T)) {
	for _, x := range p.list {
		if x != nil {
			fn(x)
		}
	}
}

// Drop removes the object and frees its number.
func (p *Pool[T]) Drop(i uint32) {
	p.list[i] = nil
	p.free = append(p.free, i)
}

// Trim shortens the list if most numbers at its end are unused.
func (p *Pool[T]) Trim() {
	n := len(p.list)
	for n > 1 && p.list[n-1] == nil {
		n--
	}
	if len(p.list)-n < 1024+n {
		return
	}
	p.list = slices.Clip(append([]*T(nil), p.list[:n]...))
	p.free = slices.Clip(slices.DeleteFunc(p.free, func(i uint32) bool { return int(i) >= n }))
}
