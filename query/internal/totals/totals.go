// Package totals adds up what is unread.
//
//	totals.go   sums over channels and threads, as the message that tells them
//	tally.go    sums over all channels, and over those of each label
//	sources.go  the sums of all owners of a merged watch
package totals

import (
	"math"

	"github.com/tidemark/tidemark/internal/badge"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

// PartOf returns the part of a channel, or of a thread of it, at a time in Unix milliseconds. s is
// the standing of the channel, or nil.
func PartOf(unread, mentions uint32, s *projections.Standing, now int64) badge.Part {
	p := badge.Part{Unread: unread, Mentions: mentions}
	if s != nil {
		p.Level, p.Flagged, p.Archived = s.Levels.At(now).Level, s.Flagged, s.Archived
	}
	return p
}

// Sums are sums of parts, with the schema's message for them.
type Sums struct{ badge.Sums }

// AddTotals adds the totals of another owner's answer.
func (t *Sums) AddTotals(m *queryv1.Totals) {
	t.Unread += int64(m.GetUnread())
	t.Mentions += int64(m.GetMentions())
	t.Channels += int64(m.GetUnreadChannels())
	t.ThreadUnread += int64(m.GetThreadUnread())
	t.ThreadMentions += int64(m.GetThreadMentions())
	t.UnreadThreads += int64(m.GetUnreadThreads())
	t.Badge += int64(m.GetBadge())
	t.Flagged += int64(m.GetFlagged())
	t.ArchivedChannels += int64(m.GetArchived().GetUnreadChannels())
	t.ArchivedMentions += int64(m.GetArchived().GetMentions())
}

// Totals returns the message. Values saturate at the maximum of their field.
func (t *Sums) Totals() *queryv1.Totals {
	clip := func(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }
	return &queryv1.Totals{
		Unread: clip(t.Unread), Mentions: clip(t.Mentions), UnreadChannels: clip(t.Channels),
		ThreadUnread: clip(t.ThreadUnread), ThreadMentions: clip(t.ThreadMentions), UnreadThreads: clip(t.UnreadThreads),
		Badge: clip(t.Badge), Flagged: clip(t.Flagged),
		Archived: &queryv1.ArchivedTotals{UnreadChannels: clip(t.ArchivedChannels), Mentions: clip(t.ArchivedMentions)},
	}
}
