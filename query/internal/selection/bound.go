package selection

import (
	"sync"

	"github.com/tidemark/tidemark/projections"
)

// A bound is a place in the order of threads that is certainly on the page or after it, found
// before any thread is selected. Threads after it are skipped at once, so that each partition makes
// views only for threads on the page, not for a whole page of its own.
//
// It is found without the lock, in lists that may change before the selection. Then the page may
// lack threads that the bound skipped, which Short reports.

// bound is the last (unread, time) that a page can have. The zero bound skips nothing.
type bound struct {
	is  bool
	key int64
}

// orderOf returns a number that is larger the earlier an entry with these values is listed.
func orderOf(unread bool, at int64) int64 {
	if unread {
		at += 1 << 60 // above any time
	}
	return at
}

// orders holds the memory of Bound: for 10,000 threads it is 80 KB.
var orders = sync.Pool{New: func() any { return new([]int64) }}

// boundFrom is the number of possibly unneeded views from which on a bound pays, since finding it
// visits everything.
const boundFrom = 512

// Bound bounds the page by the complete lists from which its threads are selected. No thread may
// have been offered yet.
func (s *Selection) Bound(lists []*projections.Sweep) {
	if s.Size*len(lists) < boundFrom {
		return
	}
	all := orders.Get().(*[]int64)
	defer orders.Put(all)
	keys := (*all)[:0]
	for _, e := range s.Kept {
		keys = append(keys, orderOf(e.Key.Unread, e.Key.At))
	}
	for _, list := range lists {
		s.eachThread(list, func(e *projections.ThreadEntry) {
			if key := orderOf(e.Unread > 0, e.RepliedAt); s.From == nil || key < orderOf(s.From.Unread, s.From.At) {
				keys = append(keys, key)
			}
		})
	}
	*all = keys
	s.boundBy(keys)
}

// boundBy bounds the page by the orders of all threads that can be on it.
func (s *Selection) boundBy(keys []int64) {
	if len(keys) > s.Size {
		s.bound = bound{true, nth(keys, s.Size-1)}
	}
}

// eachThread calls fn for the threads of a list that the page may include.
func (s *Selection) eachThread(list *projections.Sweep, fn func(*projections.ThreadEntry)) {
	if s != nil && s.AnyAge {
		list.EachFollowed(fn)
		return
	}
	list.EachThread(fn)
}

// Short reports whether the page lacks threads that the bound skipped. Then the selection must
// start again without a bound.
func (s *Selection) Short() bool { return s.missed && len(s.Kept) < s.Size }

// Unbound removes the bound.
func (s *Selection) Unbound() { s.bound, s.missed = bound{}, false }

// beyond reports whether the bound skips an entry with these values.
func (s *Selection) beyond(unread bool, at int64) bool {
	if !s.bound.is || orderOf(unread, at) >= s.bound.key {
		return false
	}
	s.More, s.missed = true, true
	return true
}

// nth returns the number that has n larger ones. It reorders keys.
func nth(keys []int64, n int) int64 {
	for lo, hi := 0, len(keys)-1; lo < hi; {
		pivot := median(keys[lo], keys[lo+(hi-lo)/2], keys[hi])
		i, j := lo, hi
		for i <= j {
			for keys[i] > pivot {
				i++
			}
			for keys[j] < pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			hi = j
		case n >= i:
			lo = i
		default:
			return pivot
		}
	}
	return keys[n]
}

// median is the middle one of three.
func median(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }
