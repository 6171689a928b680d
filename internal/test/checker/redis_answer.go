package checker

import (
	"time"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

// CachedAnswer returns the answer that a reader of Redis gives a user.
func CachedAnswer(v *cache.View) *Answer {
	a := &Answer{Channels: map[string]Channel{}, Threads: map[ThreadID]Thread{}, ByLabel: map[string]model.Totals{}, Totals: totalsOf(v.Totals)}
	for i := range v.Channels {
		a.Channels[v.Channels[i].ChannelID] = cachedChannel(&v.Channels[i])
	}
	for i := range v.Threads {
		t := cachedThread(&v.Threads[i])
		t.Listed = true
		a.Threads[ThreadID{v.Threads[i].ChannelID, v.Threads[i].ThreadID}] = t
	}
	for label, t := range v.TotalsByLabel {
		a.ByLabel[label] = totalsOf(t)
	}
	return a
}

// AsCached removes from a right answer what Redis does not have. Redis has no partition's log time
// and uses the time of the user's newest message instead. So it may list a thread longer than the
// right answer does, as got shows. If another partition is ahead of the thread's, it lists the
// thread for a shorter time.
func (a *Answer) AsCached(got *Answer) {
	a.AsDerived()
	for id, c := range a.Channels {
		a.Channels[id] = c.asCached()
	}
	newest := a.newest()
	for id, t := range a.Threads {
		_, t.Listed = got.Threads[id]
		late := newest-a.touched[id] > listedFor.Milliseconds()
		if t = t.asCached(); !t.Listed && (late || !a.Threads[id].Listed) {
			delete(a.Threads, id)
			continue
		}
		a.Threads[id] = t
	}
	a.sum()
}

// listedFor is how long a thread is listed.
const listedFor = 30 * 24 * time.Hour

// newest returns the time of the newest message that the user may know of.
func (a *Answer) newest() (at int64) {
	for _, c := range a.Channels {
		at = max(at, c.Latest.At)
	}
	for _, t := range a.Threads {
		at = max(at, t.Latest.At)
	}
	return at
}

func cachedChannel(e *cache.Entry) Channel {
	return Channel{
		Counts: cachedCounts(e), Place: cachedPlace(e), Ask: !e.Known, OfflineUnread: e.OfflineUnread, Large: e.Large,
		Levels: e.Levels, IgnoreAll: e.IgnoreAll, Flagged: e.Flagged, Archived: e.Archived, Keep: e.Filed.Keep,
		Line: projections.Ref(e.Line), Labels: e.Labels, OwnLabels: e.OwnLabels,
	}
}

func cachedThread(e *cache.Entry) Thread {
	return Thread{Counts: cachedCounts(e), Place: cachedPlace(e)}
}

func cachedCounts(e *cache.Entry) Counts {
	return Counts{e.Unread, e.Mentions, e.DirectMentions, projections.Ref{MessageID: e.FirstUnreadID}, projections.Ref(e.FirstMention)}
}

func cachedPlace(e *cache.Entry) Place {
	p := Place{LastRead: projections.Ref{Seq: e.LastReadSeq}, Latest: projections.Head{Seq: e.LatestSeq}, ReadEpoch: e.ReadEpoch}
	if !e.LatestAt.IsZero() {
		p.Latest.At = e.LatestAt.UnixMilli()
	}
	return p
}

func (c Channel) asCached() Channel {
	c.Counts, c.Place = c.Counts.asCached(), c.Place.asCached()
	if c.Large {
		c.Latest.Seq = 0
	}
	return c
}

func (t Thread) asCached() Thread {
	t.Counts, t.Place = t.Counts.asCached(), t.Place.asCached()
	return t
}

func (c Counts) asCached() Counts {
	if c.FirstUnread.Seq > 0 && c.FirstUnread.MessageID == "" {
		c.FirstUnread.MessageID = left
	}
	c.FirstUnread.Seq = 0
	return c
}

func (p Place) asCached() Place {
	return Place{LastRead: projections.Ref{Seq: p.LastRead.Seq}, Latest: projections.Head{Seq: p.Latest.Seq, At: p.Latest.At}, ReadEpoch: p.ReadEpoch}
}

func totalsOf(t cache.Totals) model.Totals {
	return model.Totals{
		Unread: uint32(t.Unread), Mentions: uint32(t.Mentions), UnreadChannels: uint32(t.UnreadChannels),
		ThreadUnread: uint32(t.ThreadUnread), ThreadMentions: uint32(t.ThreadMentions), UnreadThreads: uint32(t.UnreadThreads),
		Badge: uint32(t.Badge), Flagged: uint32(t.Flagged),
		ArchivedChannels: uint32(t.ArchivedChannels), ArchivedMentions: uint32(t.ArchivedMentions),
	}
}
