package arena

import (
	"unsafe"
)

// sampled is how many objects of a pool PoolBytes measures. From a larger pool it measures every
// k-th and multiplies. A metric reads it under RLock every few seconds, and must not walk a million
// sets each time.
const sampled = 16_384

// HeapBytes returns the memory of the chunks, the free lists, and the blobs on the Go heap.
func (s *Blobs) HeapBytes() int64 {
	n := s.Bytes() + int64(len(s.spare)) + ListBytes(s.chunks)
	for _, free := range s.free {
		n += ListBytes(free)
	}
	for _, b := range s.big {
		n += ListBytes(b)
	}
	return n + MapBytes(s.big)
}

// SlabBytes returns the memory of a slab.
func SlabBytes[T any](s *Slab[T]) int64 {
	var e T
	n := int64(s.allocated()) // a bit for each is in spots
	return n*int64(unsafe.Sizeof(e)) + n/8 + ListBytes(s.chunks) + ListBytes(s.spots) + ListBytes(s.used)
}

// PoolBytes returns the memory of a pool and of its objects; bytes measures one object.
func PoolBytes[T any](p *Pool[T], bytes func(*T) int64) int64 {
	return ListBytes(p.list) + ListBytes(p.free) + sum(p.list, bytes)
}

// ListBytes returns the memory of a slice, without the targets of pointers in its elements.
func ListBytes[T any](s []T) int64 {
	var e T
	return int64(cap(s)) * int64(unsafe.Sizeof(e))
}

// MapBytes returns the memory of a map, without the targets of pointers in its keys and values: one
// group of eight entries while it is small, then tables that are between 7/16 and 7/8 full.
func MapBytes[K comparable, V any](m map[K]V) int64 {
	const header, group = 48, 8
	if m == nil {
		return 0
	}
	var k K
	var v V
	entry := int(unsafe.Sizeof(k) + unsafe.Sizeof(v))
	if len(m) <= group {
		return header + RoundedBytes(group*(entry+1))
	}
	return header + int64(len(m))*int64(entry+1)*3/2
}

// ObjectBytes returns the size class of a T that is allocated by itself.
func ObjectBytes[T any]() int64 {
	var e T
	return RoundedBytes(int(unsafe.Sizeof(e)))
}

// RoundedBytes returns the size class of n bytes: multiples of 16 while small, then steps of at
// most an eighth.
func RoundedBytes(n int) int64 {
	step := 16
	for n > 16*step {
		step *= 2
	}
	return int64((n + step - 1) / step * step)
}

// sum adds up bytes over the elements of a list, or over every k-th of them, times k.
func sum[T any](list []*T, bytes func(*T) int64) (n int64) {
	k := 1 + (len(list)-1)/sampled
	for i := 0; i < len(list); i += k {
		if list[i] != nil {
			n += bytes(list[i])
		}
	}
	return n * int64(k)
}
