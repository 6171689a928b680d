package view

import (
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/internal/badge"
)

// Totals are the sums over a user's channels and threads (DESIGN §4.7).
type Totals struct {
	Unread, Mentions, Channels   uint64
	ThreadUnread, ThreadMentions uint64
	Threads                      uint64 // threads with something unread
	Badge                        uint64
	Flagged                      uint64
	ArchivedChannels             uint64
	ArchivedMentions             uint64
}

// Threads are the sums of the threads that a user follows in one channel. They are stored with the
// channel, because the totals go with every delta and a user may follow thousands of threads.
type Threads struct{ Unread, Mentions, Count uint64 }

// Add adds a thread (sign +1) or subtracts it (-1). A thread that is not followed counts as
// nothing.
func (t *Threads) Add(v *View, sign int64) {
	if !v.Member {
		return
	}
	t.Unread += uint64(sign * int64(v.Unread))
	t.Mentions += uint64(sign * int64(v.Mentions))
	if v.Unread > 0 {
		t.Count += uint64(sign)
	}
}

// Add adds a channel that the user is a member of, with its threads (sign +1), or subtracts it
// (-1).
func (t *Totals) Add(v *View, threads *Threads, sign int64) {
	var s badge.Sums
	s.AddChannel(badge.Part{Unread: v.Unread, Mentions: v.Mentions, Level: v.Level, Flagged: v.Flagged(), Archived: v.Archived}, sign)
	s.AddThreads(badge.Threads{Unread: int64(threads.Unread), Mentions: int64(threads.Mentions), Count: int64(threads.Count)}, v.Level, v.Archived, sign)
	t.Unread += uint64(s.Unread)
	t.Mentions += uint64(s.Mentions)
	t.Channels += uint64(s.Channels)
	t.ThreadUnread += uint64(s.ThreadUnread)
	t.ThreadMentions += uint64(s.ThreadMentions)
	t.Threads += uint64(s.UnreadThreads)
	t.Badge += uint64(s.Badge)
	t.Flagged += uint64(s.Flagged)
	t.ArchivedChannels += uint64(s.ArchivedChannels)
	t.ArchivedMentions += uint64(s.ArchivedMentions)
}

// Append appends the field totals. at is the time of the totals, in Unix milliseconds; 0: any time,
// as no level changes by itself.
func (t *Totals) Append(b []byte, at int64) []byte {
	b = append(frames.Key(b, "totals"), '{')
	b = frames.Number(b, "unread", t.Unread)
	b = frames.Number(b, "mentions", t.Mentions)
	b = frames.Number(b, "unread_channels", t.Channels)
	b = frames.Number(b, "thread_unread", t.ThreadUnread)
	b = frames.Number(b, "thread_mentions", t.ThreadMentions)
	b = frames.Number(b, "unread_threads", t.Threads)
	b = frames.Number(b, "badge", t.Badge)
	if t.Flagged > 0 {
		b = frames.Number(b, "flagged", t.Flagged)
	}
	if t.ArchivedChannels > 0 || t.ArchivedMentions > 0 {
		b = append(frames.Key(b, "archived"), '{')
		b = frames.Number(b, "unread_channels", t.ArchivedChannels)
		b = append(frames.Number(b, "mentions", t.ArchivedMentions), '}')
	}
	if at > 0 {
		b = frames.Instant(b, "evaluated_at", at)
	}
	return append(b, '}')
}
