package arena

import "slices"

// A slab's first chunk is small, so that a small partition uses little memory. The others are large
// enough for huge pages, and few enough for the garbage collector. Growing copies nothing.
const (
	slabFirst = 256
	slabShift = 15
	slabSize  = 1 << slabShift
)

// Slab is a growing array of pointer-free elements, addressed by index. Index 0 is never given out,
// so 0 can mean none. Addresses stay valid, because chunks never move.
type Slab[T any] struct {
	first  []T
	chunks [][]T    // nil: Trim freed it
	used   []uint32 // elements in use, of each chunk
	next   uint32
	free   []uint32
	live   int
	absent int // chunks that Trim freed
}

// Alloc returns the index of a zeroed element.
func (s *Slab[T]) Alloc() uint32 {
	s.live++
	if s.next == 0 {
		s.first = make([]T, slabFirst)
		s.next = 1
	}
	if s.absent > 0 && len(s.free) == 0 {
		s.restore()
	}
	i := s.next
	if n := len(s.free); n > 0 {
		i = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		s.next++
	}
	if i >= slabFirst {
		k := (i - slabFirst) >> slabShift
		if int(k) == len(s.chunks) {
			s.chunks, s.used = append(s.chunks, newSlabChunk[T]()), append(s.used, 0)
		}
		s.used[k]++
	}
	return i
}

// restore allocates a chunk again that Trim freed.
func (s *Slab[T]) restore() {
	k := slices.IndexFunc(s.chunks, func(c []T) bool { return c == nil })
	s.absent--
	s.chunks[k] = newSlabChunk[T]()
	from := uint32(slabFirst + k<<slabShift)
	for i := from + slabSize; i > from; i-- {
		s.free = append(s.free, i-1)
	}
}

func newSlabChunk[T any]() []T {
	c := make([]T, slabSize)
	adviseHuge(c)
	return c
}

// Release zeroes the element and frees its index.
func (s *Slab[T]) Release(i uint32) {
	var zero T
	*s.At(i) = zero
	s.free = append(s.free, i)
	s.live--
	if i >= slabFirst {
		s.used[(i-slabFirst)>>slabShift]--
	}
}

// Push allocates an element for v, and returns its index.
func (s *Slab[T]) Push(v T) uint32 {
	i := s.Alloc()
	*s.At(i) = v
	return i
}

// Reset releases all elements of a slab that is only pushed to, and keeps their memory.
func (s *Slab[T]) Reset() {
	s.next, s.live = min(s.next, 1), 0
	clear(s.used)
}

// Idle reports whether Trim can free enough memory to be worth calling.
func (s *Slab[T]) Idle() bool {
	if len(s.free) < slabFirst || len(s.free) < s.live/2 {
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
			s.chunks[k] = nil
			s.absent++
		}
	}
	if last := len(s.chunks) - 1; s.chunks[last] == nil { // it may not have been used to its end
		s.chunks, s.used = s.chunks[:last], s.used[:last]
		s.absent--
		s.next = uint32(slabFirst + last<<slabShift)
	}
	s.free = slices.Clip(slices.Collect(func(yield func(uint32) bool) {
		for _, i := range s.free {
			if s.Has(i) && !yield(i) {
				return
			}
		}
	}))
}

// Has reports whether an element that was given out still has memory.
func (s *Slab[T]) Has(i uint32) bool {
	return i < uint32(len(s.first)) || i < s.next && s.chunks[(i-slabFirst)>>slabShift] != nil
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
