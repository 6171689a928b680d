package selection

import (
	"container/heap"
	"slices"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/paging"
)

// Selection keeps the first Size channels or threads of an order among all that it is shown, in a
// heap whose root is the last of them: the inbox of a user in 100,000 channels costs one look at
// each and a page of memory.
type Selection struct {
	Size   int
	Filter Filter      // of channels
	AnyAge bool        // of threads: also those that have expired
	From   *paging.Key // nil: from the start; else what comes after it

	Kept selected // in no order
	More bool     // something was left out

	bound  bound // of threads
	missed bool  // the bound left something out
}

// Entry is a channel or a thread of a page. Its view is begun while its partition is still locked.
type Entry struct {
	Key     paging.Key
	Channel *projections.View
	Thread  *projections.ThreadView

	// Of a thread:
	Ref      projections.ThreadRef
	Standing *projections.Standing // of the channel; nil: nothing was said of it
}

// StandingOf is Standing, and never nil.
func (e *Entry) StandingOf() *projections.Standing {
	if e.Standing == nil {
		return &projections.Standing{}
	}
	return e.Standing
}

// reserve makes room for a page, and returns how many views may still be made for it.
func (s *Selection) reserve() int {
	s.Kept = slices.Grow(s.Kept, max(0, s.Size-len(s.Kept)))
	n := s.Size
	if s.bound.is { // then what was viewed stays on the page
		for i := range s.Kept {
			if s.Kept[i].Thread != nil {
				n--
			}
		}
	}
	return n
}

// Offer shows it a channel.
func (s *Selection) Offer(e *projections.InboxEntry) {
	unread := e.Unread > 0 || e.Standing != nil && e.Standing.Flagged
	if s.Filter.drops(unread, e.Standing) || s.after(unread, e.LatestAt) || s.listed(unread, e.LatestAt) {
		return
	}
	s.take(Entry{Key: paging.Key{Unread: unread, At: e.LatestAt, ID: string(e.ChannelID)}})
}

// OfferThread shows it a thread.
func (s *Selection) OfferThread(e *projections.ThreadEntry) {
	if s.listed(e.Unread > 0, e.RepliedAt) || s.beyond(e.Unread > 0, e.RepliedAt) || s.after(e.Unread > 0, e.RepliedAt) {
		return
	}
	x := Entry{Ref: e.Ref}
	x.Key = paging.Key{Unread: e.Unread > 0, At: e.RepliedAt, ID: paging.ThreadID(e.ChannelID, e.ThreadID)}
	if e.Standing != nil {
		standing := *e.Standing // it is another's after the list is freed
		x.Standing = &standing
	}
	s.take(x)
}

// after reports whether what has these comes after all that is kept, whatever its id. Most end
// here, before an id is copied. What comes after the last one kept comes after from, too.
func (s *Selection) after(unread bool, at int64) bool {
	if len(s.Kept) < s.Size {
		return false
	}
	last := &s.Kept[0].Key
	if unread == last.Unread && at < last.At || !unread && last.Unread {
		s.More = true
		return true
	}
	return false
}

// listed reports whether an entry with these values is on an earlier page, whatever its id. On
// later pages that is true of nearly all entries, and no id is copied for them.
func (s *Selection) listed(unread bool, at int64) bool {
	return s.From != nil && (unread && !s.From.Unread || unread == s.From.Unread && at > s.From.At)
}

func (s *Selection) take(e Entry) {
	if s.From == nil || s.From.Before(e.Key) {
		s.push(e)
	}
}

// Copy is a copy that later offers do not change; of nil an empty one.
func (s *Selection) Copy() Selection {
	if s == nil {
		return Selection{}
	}
	c := *s
	c.Kept = slices.Clone(s.Kept)
	return c
}

// Restore makes s what the copy was taken of.
func (s *Selection) Restore(c *Selection) {
	if s != nil {
		s.Kept, s.More, s.missed = append(s.Kept[:0], c.Kept...), c.More, c.missed
	}
}

func (s *Selection) push(e Entry) {
	if len(s.Kept) < s.Size {
		s.Kept = append(s.Kept, e)
		heap.Fix(&s.Kept, len(s.Kept)-1) // heap.Push would allocate, and the lock may be held
		return
	}
	s.More = true
	if e.Key.Before(s.Kept[0].Key) {
		s.Kept[0] = e
		heap.Fix(&s.Kept, 0)
	}
}

// warm prepares the views of the threads from the i-th on.
func (s *Selection) warm(views *projections.Views, i int) {
	var refs [projections.ThreadsWarmed]projections.ThreadRef
	n := 0
	for _, e := range s.Kept[i:min(i+len(refs), len(s.Kept))] {
		if e.Thread == nil {
			refs[n], n = e.Ref, n+1
		}
	}
	views.WarmThreads(refs[:n])
}

// Page returns the entries that were kept, in order. Nothing is offered after that.
func (s *Selection) Page() []Entry {
	slices.SortFunc(s.Kept, func(a, b Entry) int { return a.Key.Compare(b.Key) })
	return s.Kept
}

// selected is a heap with the last of the order on top. Of container/heap it needs Fix alone.
type selected []Entry

func (h selected) Len() int           { return len(h) }
func (h selected) Less(i, j int) bool { return h[j].Key.Before(h[i].Key) }
func (h selected) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (selected) Push(any)             { panic("heap.Push allocates: append and heap.Fix") }
func (selected) Pop() any             { panic("nothing is taken from a selection one by one") }
