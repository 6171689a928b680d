package arena

// HeapEntry is a reference under a key.
type HeapEntry struct {
	Key int64
	Ref uint32
}

// Heap is a binary heap, smallest key first.
type Heap []HeapEntry

// Push adds a reference.
func (h *Heap) Push(key int64, ref uint32) {
	*h = append(*h, HeapEntry{key, ref})
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if a[up].Key <= a[i].Key {
			return
		}
		a[up], a[i] = a[i], a[up]
		i = up
	}
}

// Pop removes the reference with the least key, and returns it.
func (h *Heap) Pop() uint32 {
	a := *h
	ref := a[0].Ref
	n := len(a) - 1
	a[0] = a[n]
	a = a[:n]
	*h = a
	for i := 0; ; {
		kid := 2*i + 1
		if kid >= n {
			return ref
		}
		if kid+1 < n && a[kid+1].Key < a[kid].Key {
			kid++
		}
		if a[i].Key <= a[kid].Key {
			return ref
		}
		a[i], a[kid] = a[kid], a[i]
		i = kid
	}
}
