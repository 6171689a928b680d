package selection

import (
	"container/heap"
	"slices"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/paging"
)

// Selection keeps the first Size channels or threads of an order among all that are offered, in a
// heap whose root is the last of them. So the inbox of a user in 100,000 channels costs one
// comparison for each and the memory of one page.
type Selection struct {
	Size   int
	Filter Filter      // of channels
	AnyAge bool        // for threads: include expired ones
	From   *paging.Key // nil: from the start; otherwise only entries after it

	Kept selected // in no particular order
	More bool     // some entries were left out

	bound  bound // only for threads
	missed bool  // the bound skipped some
}

// Entry is a channel or a thread of a page. Its view is begun while its partition is still locked.
type Entry struct {
	Key     paging.Key
	Channel *projections.View
	Thread  *projections.ThreadView

	// Only for threads:
	Ref      projections.ThreadRef
	Standing *projections.Standing // of the channel; nil: no settings and no updates
}

// StandingOf returns Standing, or the zero one instead of nil.
func (e *Entry) StandingOf() *projections.Standing {
	if e.Standing == nil {
		return &projections.Standing{}
	}
	return e.Standing
}

// reserve allocates memory for a page, and returns how many more views may be made for it.
func (s *Selection) reserve() int {
	s.Kept = slices.Grow(s.Kept, max(0, s.Size-len(s.Kept)))
	n := s.Size
	if s.bound.is { // with a bound, entries with views stay on the page
		for i := range s.Kept {
			if s.Kept[i].Thread != nil {
				n--
			}
		}
	}
	return n
}

// Offer offers a channel.
func (s *Selection) Offer(e *projections.InboxEntry) {
	unread := e.Unread > 0 || e.Standing != nil && e.Standing.Flagged
	if s.Filter.drops(unread, e.Standing) || s.after(unread, e.LatestAt) || s.listed(unread, e.LatestAt) {
		return
	}
	s.take(Entry{Key: paging.Key{Unread: unread, At: e.LatestAt, ID: string(e.ChannelID)}})
}

// OfferThread offers a thread.
func (s *Selection) OfferThread(e *projections.ThreadEntry) {
	if s.listed(e.Unread > 0, e.RepliedAt) || s.beyond(e.Unread > 0, e.RepliedAt) || s.after(e.Unread > 0, e.RepliedAt) {
		return
	}
	x := Entry{Ref: e.Ref}
	x.Key = paging.Key{Unread: e.Unread > 0, At: e.RepliedAt, ID: paging.ThreadID(e.ChannelID, e.ThreadID)}
	if e.Standing != nil {
		standing := *e.Standing // the list may be freed before this entry is used
		x.Standing = &standing
	}
	s.take(x)
}

// after reports whether an entry with these values comes after all that are kept, whatever its id.
// Most entries end here, before an id is copied. An entry after the last kept one is after From,
// too.
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

// Copy returns a copy that later offers do not change; of nil an empty one.
func (s *Selection) Copy() Selection {
	if s == nil {
		return Selection{}
	}
	c := *s
	c.Kept = slices.Clone(s.Kept)
	return c
}

// Restore resets s to the copy.
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

// warm touches the memory for the views of the threads from the i-th on.
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

// Page returns the kept entries in order. Offer nothing after that.
func (s *Selection) Page() []Entry {
	slices.SortFunc(s.Kept, func(a, b Entry) int { return a.Key.Compare(b.Key) })
	return s.Kept
}

// selected is a heap with the last entry of the order on top. It uses only Fix of container/heap.
type selected []Entry

func (h selected) Len() int           { return len(h) }
func (h selected) Less(i, j int) bool { return h[j].Key.Before(h[i].Key) }
func (h selected) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (selected) Push(any)             { panic("heap.Push allocates: append and heap.Fix") }
func (selected) Pop() any             { panic("nothing is taken from a selection one by one") }
