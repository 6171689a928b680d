package arena

import (
	"testing"

	"pgregory.net/rapid"
)

// TestHeap: the heap pops keys in order.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Heap
		n := rapid.IntRange(0, 60).Draw(t, "n")
		for i := range n {
			h.Push(rapid.Int64Range(-5, 30).Draw(t, "key"), uint32(i))
		}
		last := int64(-10)
		for range n {
			key := h[0].Key
			h.Pop()
			if key < last {
				t.Fatalf("%d after %d", key, last)
			}
			last = key
		}
		if len(h) != 0 {
			t.Fatalf("%d left", len(h))
		}
	})
}
