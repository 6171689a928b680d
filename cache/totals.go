package cache

import "github.com/tidemark/tidemark/internal/badge"

// Totals are the sums over an inbox, as in the query service (DESIGN §4.7): without muted and
// archived channels and their threads.
type Totals struct {
	Unread         uint64
	Mentions       uint64
	UnreadChannels int // channels with something unread or a flag
	// Over the listed threads.
	ThreadUnread, ThreadMentions uint64
	UnreadThreads                int
	Badge                        uint64
	Flagged                      int // flagged channels, including muted ones
	// Over archived channels, including muted ones.
	ArchivedChannels int
	ArchivedMentions uint64
	// Unknown is the number of channels whose contribution is unknown. The totals are exact if it
	// is 0.
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
