package query

import (
	"container/heap"
	"math"
	"slices"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

// selection keeps the first size channels of an order among all that it is shown, in a heap whose root is the last of
// them: the inbox of a user in 100,000 channels costs one look at each and a page of memory.
type selection struct {
	size       int
	unreadOnly bool
	from       *sortKey // nil: from the start; else what comes after it

	each       func(*projections.InboxEntry) // nil, or sees every channel
	eachThread func(*projections.ThreadView) // nil, or sees every listed thread

	kept selected
	more bool // something was left out
	sums sums
}

// entry is a channel of a page. view is filled in while its partition is still locked.
type entry struct {
	key  sortKey
	view *queryv1.ChannelUnread
}

// take looks at one partition, which the caller has locked: the whole inbox for the totals, the views of what made it
// into the page. Channels of earlier partitions keep theirs, so that each partition is read once.
func (s *selection) take(p *projections.Partition, userID string) {
	// The error that Inbox returns is the partition's Err, which read looks at.
	_ = p.Inbox(userID, func(e *projections.InboxEntry) bool {
		s.sums.add(e.Unread, e.Mentions, e.Muted)
		if s.each != nil {
			s.each(e)
		}
		s.offer(e)
		return true
	})
	if s.eachThread == nil {
		_ = p.ThreadCounts(userID, s.sums.addThread)
	} else {
		_ = p.Threads(userID, func(v *projections.ThreadView) bool {
			s.sums.addThread(v.Unread, v.Mentions, v.Muted)
			s.eachThread(v)
			return true
		})
	}
	for i := range s.kept {
		if s.kept[i].view == nil {
			v, _ := p.View(userID, s.kept[i].key.channelID)
			s.kept[i].view = channelUnread(&v)
		}
	}
}

func (s *selection) offer(e *projections.InboxEntry) {
	if s.unreadOnly && e.Unread == 0 {
		return
	}
	k := sortKey{unread: e.Unread > 0, at: e.LatestAt}
	if len(s.kept) == s.size {
		// Most channels end here, before an id is copied. What comes after the last one kept comes after from, too.
		last := &s.kept[0].key
		if k.unread == last.unread && k.at < last.at || !k.unread && last.unread {
			s.more = true
			return
		}
	}
	k.channelID = string(e.ChannelID)
	if s.from != nil && !s.from.before(k) {
		return
	}
	s.push(entry{key: k})
}

func (s *selection) push(e entry) {
	if len(s.kept) < s.size {
		heap.Push(&s.kept, e)
		return
	}
	s.more = true
	if e.key.before(s.kept[0].key) {
		s.kept[0] = e
		heap.Fix(&s.kept, 0)
	}
}

// page is what was kept, in order.
func (s *selection) page() []entry {
	out := slices.Clone([]entry(s.kept))
	slices.SortFunc(out, func(a, b entry) int { return a.key.compare(b.key) })
	return out
}

// selected is a heap with the last of the order on top.
type selected []entry

func (h selected) Len() int           { return len(h) }
func (h selected) Less(i, j int) bool { return h[j].key.before(h[i].key) }
func (h selected) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *selected) Push(x any)        { *h = append(*h, x.(entry)) }
func (h *selected) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// keyOf is where an answered channel stands in the order.
func keyOf(c *queryv1.ChannelUnread) sortKey {
	k := sortKey{unread: c.Unread > 0, channelID: c.ChannelId}
	if c.Latest != nil {
		k.at = c.Latest.At.AsTime().UnixMilli()
	}
	return k
}

// sums are totals in a width that does not overflow.
type sums struct{ unread, mentions, channels, threadUnread, threadMentions int64 }

// addThread counts one listed thread.
func (t *sums) addThread(unread, mentions uint32, muted bool) {
	if !muted {
		t.threadUnread += int64(unread)
		t.threadMentions += int64(mentions)
	}
}

// add counts one channel that the user is a member of.
func (t *sums) add(unread, mentions uint32, muted bool) {
	if muted {
		return
	}
	t.unread += int64(unread)
	t.mentions += int64(mentions)
	if unread > 0 {
		t.channels++
	}
}

func (t *sums) addTotals(m *queryv1.Totals) {
	t.unread += int64(m.GetUnread())
	t.mentions += int64(m.GetMentions())
	t.channels += int64(m.GetUnreadChannels())
	t.threadUnread += int64(m.GetThreadUnread())
	t.threadMentions += int64(m.GetThreadMentions())
}

// totals saturate at what the field holds.
func (t *sums) totals() *queryv1.Totals {
	clip := func(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }
	return &queryv1.Totals{
		Unread: clip(t.unread), Mentions: clip(t.mentions), UnreadChannels: clip(t.channels),
		ThreadUnread: clip(t.threadUnread), ThreadMentions: clip(t.threadMentions),
	}
}
