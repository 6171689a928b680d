// Package hashindex finds the numbers of a batch's items by their hashes.
package hashindex

// Index finds the number that was stored under a hash. Clearing takes time proportional to the size
// of the next batch, so a batch of one delta costs nothing.
type Index struct {
	slots  []int32 // number + 1
	memory []int32
}

// Reset empties the index and makes room for n numbers.
func (x *Index) Reset(n int) {
	size := 16
	for size < 2*n {
		size *= 2
	}
	if size > len(x.memory) {
		x.memory = make([]int32, size)
	}
	x.slots = x.memory[:size]
	clear(x.slots)
}

// Find returns the number that was put under hash and for which same is true. If there is none, it
// puts next there and returns it.
func (x *Index) Find(hash uint64, next int32, same func(int32) bool) int32 {
	mask := uint64(len(x.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		switch n := x.slots[i]; {
		case n == 0:
			x.slots[i] = next + 1
			return next
		case same(n - 1):
			return n - 1
		}
	}
}
