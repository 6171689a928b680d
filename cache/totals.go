package cache

import "github.com/tidemark/tidemark/internal/badge"

// Totals sum up an inbox, as those of the query service do (DESIGN §4.7): without channels that are
// muted or archived, and without their threads.
type Totals struct {
	Unread         uint64
	Mentions       uint64
	UnreadChannels int // with something unread, or flagged
	// Of the threads that are listed.
	ThreadUnread, ThreadMentions uint64
	UnreadThreads                int
	Badge                        uint64
	Flagged                      int // flagged channels, muted ones too
	// Of archived channels, muted ones too.
	ArchivedChannels int
	ArchivedMentions uint64
	// Unknown is the number of channels of which it is not known what they add. The totals are
	// exact if it is 0.
	Unknown int
}

// sums are Totals in the making.
type sums struct {
	badge.Sums
	unknown int
}

func (s *sums) totals() Totals {
	n := func(sum int64) uint64 { return uint64(max(sum, 0)) } //nolint:gosec // never negative
	return Totals{
		Unread: n(s.Unread), Mentions: n(s.Mentions), UnreadChannels: int(s.Channels),
		ThreadUnread: n(s.ThreadUnread), ThreadMentions: n(s.ThreadMentions), UnreadThreads: int(s.UnreadThreads),
		Badge: n(s.Badge), Flagged: int(s.Flagged),
		ArchivedChannels: int(s.ArchivedChannels), ArchivedMentions: n(s.ArchivedMentions), Unknown: s.unknown,
	}
}

// add counts a channel, or a listed thread.
func (s *sums) add(e *Entry) {
	part := badge.Part{Unread: e.Unread, Mentions: e.Mentions, Level: e.Levels.Level, Flagged: e.Flagged, Archived: e.Archived}
	switch {
	case e.ThreadID != "":
		s.AddThread(part, 1)
	case e.Known || e.Muted && !e.Archived && !e.Filed.Is: // a muted channel adds no counts
		s.AddChannel(part, 1)
	default:
		s.unknown++
	}
}

// sum sets the totals of a view.
func (v *View) sum() {
	var all sums
	byLabel := map[string]*sums{}
	for _, list := range [][]Entry{v.Channels, v.Threads} {
		for i := range list {
			e := &list[i]
			all.add(e)
			for _, label := range e.Labels {
				of := byLabel[label]
				if of == nil {
					of = new(sums)
					byLabel[label] = of
				}
				of.add(e)
			}
		}
	}
	v.Totals = all.totals()
	for label, of := range byLabel {
		if v.TotalsByLabel == nil {
			v.TotalsByLabel = make(map[string]Totals, len(byLabel))
		}
		v.TotalsByLabel[label] = of.totals()
	}
}
