// Package badge has the formula of the totals (DESIGN §4.7), for queries, gateways and readers of
// Redis. All of them sum the same parts.
//
//	badge.go  the parts of a channel and its threads
package badge

import "github.com/tidemark/tidemark/events"

// Part is the part of a channel that the user is a member of, or of a listed thread, in the totals.
// The zero Part adds nothing.
type Part struct {
	Unread, Mentions uint32
	Level            events.Level // of the channel, at the time of the answer
	Flagged          bool         // the channel; a thread has no flag
	Archived         bool         // the channel
}

// Threads are the sums of listed threads of one channel.
type Threads struct {
	Unread, Mentions int64
	Count            int64 // threads with something unread
}

// Add adds a thread; times is 1, or -1 to take it back.
func (t *Threads) Add(unread, mentions uint32, times int64) {
	t.Unread += times * int64(unread)
	t.Mentions += times * int64(mentions)
	if unread > 0 {
		t.Count += times
	}
}

// Sums are totals in integers that do not overflow.
type Sums struct {
	Unread, Mentions, Channels                  int64
	ThreadUnread, ThreadMentions, UnreadThreads int64
	Badge, Flagged                              int64
	ArchivedChannels, ArchivedMentions          int64
}

// AddChannel counts one channel; times is 1, or -1 to take it back.
func (s *Sums) AddChannel(p Part, times int64) {
	unread := p.Unread > 0 || p.Flagged
	if p.Archived {
		if unread {
			s.ArchivedChannels += times
		}
		s.ArchivedMentions += times * int64(p.Mentions)
		return
	}
	if p.Flagged {
		s.Flagged += times
	}
	if p.Level == events.LevelNone {
		return
	}
	s.Unread += times * int64(p.Unread)
	s.Mentions += times * int64(p.Mentions)
	if unread {
		s.Channels += times
	}
	badge := through(p.Level, int64(p.Unread), int64(p.Mentions))
	if badge == 0 && p.Flagged {
		badge = 1
	}
	s.Badge += times * badge
}

// AddThread is AddChannel for a listed thread.
func (s *Sums) AddThread(p Part, times int64) {
	var one Threads
	one.Add(p.Unread, p.Mentions, 1)
	s.AddThreads(one, p.Level, p.Archived, times)
}

// AddThreads counts the listed threads of a channel with a level at the time of the answer.
func (s *Sums) AddThreads(t Threads, level events.Level, archived bool, times int64) {
	if archived || level == events.LevelNone {
		return
	}
	s.ThreadUnread += times * t.Unread
	s.ThreadMentions += times * t.Mentions
	s.UnreadThreads += times * t.Count
	s.Badge += times * through(level, t.Unread, t.Mentions)
}

// through returns the part of the counts that a level other than NONE adds to the badge.
func through(level events.Level, unread, mentions int64) int64 {
	if level == events.LevelMentions {
		return mentions
	}
	return unread
}
