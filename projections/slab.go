package projections

// A slab's first chunk is small, so that a partition with little in it costs little. The others are large enough for
// huge pages and for the garbage collector to see few objects; growing costs no copy.
const (
	slabFirst = 256
	slabShift = 15
	slabSize  = 1 << slabShift
)

// slab is a growing array of pointer-free elements, addressed by index. Index 0 is never given out, so that 0 can mean
// none. Addresses stay valid: chunks are never moved.
type slab[T any] struct {
	first  []T
	chunks [][]T
	next   uint32
	free   []uint32
}

// alloc returns the index of a zeroed element.
func (s *slab[T]) alloc() uint32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		return i
	}
	if s.next == 0 {
		s.first = make([]T, slabFirst)
		s.next = 1
	}
	i := s.next
	if i >= slabFirst && int((i-slabFirst)>>slabShift) >= len(s.chunks) {
		c := make([]T, slabSize)
		adviseHuge(c)
		s.chunks = append(s.chunks, c)
	}
	s.next++
	return i
}

// release zeroes the element and gives its index back.
func (s *slab[T]) release(i uint32) {
	var zero T
	*s.at(i) = zero
	s.free = append(s.free, i)
}

// push allocates an element for v, and returns its index.
func (s *slab[T]) push(v T) uint32 {
	i := s.alloc()
	*s.at(i) = v
	return i
}

// reset takes back all elements of a slab that is only pushed to. It keeps their memory.
func (s *slab[T]) reset() { s.next = min(s.next, 1) }

// room is the number of elements that there is memory for.
func (s *slab[T]) room() int { return len(s.first) + len(s.chunks)*slabSize }

func (s *slab[T]) at(i uint32) *T {
	if i < slabFirst {
		return &s.first[i]
	}
	i -= slabFirst
	return &s.chunks[i>>slabShift][i&(slabSize-1)]
}

// len is the number of live elements.
func (s *slab[T]) len() int {
	if s.next == 0 {
		return 0
	}
	return int(s.next) - 1 - len(s.free)
}

// each calls fn for every index ever given out; released elements are zero.
func (s *slab[T]) each(fn func(i uint32, e *T)) {
	for i := uint32(1); i < s.next; i++ {
		fn(i, s.at(i))
	}
}
