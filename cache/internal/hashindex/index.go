// Package hashindex finds the numbers of a batch's items by their hashes.
package hashindex

// Index finds the number that was stored under a hash. It is as large as the number of items asks
// for, so that as much of it as possible stays in the CPU's caches. A batch of one item costs nothing
// after a large one.
type Index struct {
	slots  []uint64 // the upper half of the hash, and below it the number + 1
	count  int
	recent int // a recent peak of count
}

const (
	smallest = 16        // slots
	number   = 1<<32 - 1 // the bits of a slot that hold the number + 1
)

// Reset empties the index. n is how many numbers there will be at most.
func (x *Index) Reset(n int) {
	x.recent = max(x.count, x.recent-x.recent/8)
	size := smallest
	for size < 2*min(n, x.recent) {
		size *= 2
	}
	x.count = 0
	if size > cap(x.slots) {
		x.slots = make([]uint64, size)
		return
	}
	x.slots = x.slots[:size]
	clear(x.slots)
}

// Find returns the number that was put under hash and for which same is true. If there is none, it
// puts next there and returns it. It calls same only for numbers whose hash has the same upper half.
func (x *Index) Find(hash uint64, next int32, same func(int32) bool) int32 {
	mask := uint64(len(x.slots) - 1)
	for i := hash >> 32 & mask; ; i = (i + 1) & mask {
		s := x.slots[i]
		if s == 0 {
			x.slots[i] = hash&^number | uint64(next+1) //nolint:gosec // numbers are not negative
			if x.count++; 2*x.count > len(x.slots) {
				x.grow()
			}
			return next
		}
		if n := int32(s&number) - 1; (s^hash)&^number == 0 && same(n) { //nolint:gosec // it was an int32
			return n
		}
	}
}

// grow doubles the slots.
func (x *Index) grow() {
	old := x.slots
	x.slots = make([]uint64, 2*len(old))
	mask := uint64(len(x.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		i := s >> 32 & mask
		for x.slots[i] != 0 {
			i = (i + 1) & mask
		}
		x.slots[i] = s
	}
}

// Load returns the first number under the upper half of hash, or -1. Called for many hashes before
// Find, it lets their cache misses overlap.
func (x *Index) Load(hash uint64) int32 {
	mask := uint64(len(x.slots) - 1)
	for i := hash >> 32 & mask; ; i = (i + 1) & mask {
		if s := x.slots[i]; s == 0 || (s^hash)>>32 == 0 {
			return int32(s&number) - 1 //nolint:gosec // it was an int32
		}
	}
}
