// Package hashindex finds the numbers of a batch's items by their hashes.
package hashindex

// Index finds the number that was stored under a hash. Clearing takes time proportional to the size
// of the next batch, so a batch of one delta costs nothing.
type Index struct {
	slots  []uint64 // the upper half of the hash, and below it the number + 1
	memory []uint64
}

// Reset empties the index and makes room for n numbers.
func (x *Index) Reset(n int) {
	size := 16
	for size < 2*n {
		size *= 2
	}
	if size > len(x.memory) {
		x.memory = make([]uint64, size)
	}
	x.slots = x.memory[:size]
	clear(x.slots)
}

// Find returns the number that was put under hash and for which same is true. If there is none, it
// puts next there and returns it. It calls same only for numbers whose hash has the same upper half.
func (x *Index) Find(hash uint64, next int32, same func(int32) bool) int32 {
	const number = 1<<32 - 1
	mask := uint64(len(x.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := x.slots[i]
		if s == 0 {
			x.slots[i] = hash&^number | uint64(next+1) //nolint:gosec // numbers are not negative
			return next
		}
		if n := int32(s&number) - 1; (s^hash)&^number == 0 && same(n) { //nolint:gosec // it was an int32
			return n
		}
	}
}
