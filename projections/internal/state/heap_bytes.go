package state

import (
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/held"
)

// HeapBytes returns the memory of a thread.
func (t *Thread) HeapBytes() int64 {
	return arena.ObjectBytes[Thread]() + t.Live.HeapBytes() + t.Casts.HeapBytes() + t.Alls.HeapBytes()
}

// HeapBytes returns the memory of a list of members.
func (l *MemberList) HeapBytes() int64 {
	n := arena.ObjectBytes[MemberList]() + arena.ListBytes(l.Rows)
	if l.pages != nil {
		n += arena.ObjectBytes[[]PageState]() + arena.ListBytes(*l.pages)
	}
	if l.present != nil {
		n += arena.ObjectBytes[[]uint32]() + arena.ListBytes(*l.present)
	}
	return n
}

// HeapBytes returns the memory of a channel's extra.
func (x *ChannelExtra) HeapBytes() int64 {
	n := arena.ObjectBytes[ChannelExtra]() + x.Uncounted.HeapBytes() + x.Deleted.HeapBytes() + x.Alls.HeapBytes()
	n += arena.ListBytes(x.Sizes) + arena.ListBytes(x.Queuers) + arena.ListBytes(x.Wait.Seqs) + arena.ListBytes(x.Wait.Times)
	for id, rows := range x.Wait.IDs {
		n += arena.RoundedBytes(len(id)) + arena.ListBytes(rows)
	}
	return n + arena.MapBytes(x.Wait.IDs) + x.Mention.heapBytes() + labelsBytes(x.Labels)
}

// HeapBytes returns the memory of a pair's extra.
func (x *PairExtra) HeapBytes() int64 {
	n := arena.ObjectBytes[PairExtra]() + x.Mentions.HeapBytes() + x.Singles.HeapBytes() + x.Queued.HeapBytes() + x.Hidden.HeapBytes() + x.WithThreads.HeapBytes()
	n += arena.ListBytes(x.Floors) + arena.ListBytes(x.Own) + arena.ListBytes(x.Spans)
	for _, list := range [...][]held.Event{x.Unsettled, x.OpenReads, x.WaitingDeliveries} {
		n += arena.ListBytes(list)
		for i := range list {
			n += arena.ListBytes(list[i].ID) + arena.ListBytes(list[i].HeadID)
		}
	}
	if x.Read != nil {
		n += arena.ObjectBytes[OwnPost]()
		if k := x.Read.Kept; k != nil {
			n += arena.ObjectBytes[OwnReads]() + arena.ListBytes(k.Seqs)
		}
	}
	return n + x.Mention.heapBytes() + x.Settings.heapBytes()
}

func (s *UserSettings) heapBytes() int64 {
	if s == nil {
		return 0
	}
	n := arena.ObjectBytes[UserSettings]() + arena.RoundedBytes(len(s.Line.ID)) + labelsBytes(s.Labels)
	if s.Filed.Found != nil {
		n += arena.ObjectBytes[Found]()
	}
	return n
}

func labelsBytes(labels []string) int64 {
	n := arena.ListBytes(labels)
	for _, l := range labels {
		n += arena.RoundedBytes(len(l))
	}
	return n
}

func (m *Named) heapBytes() int64 {
	if m == nil {
		return 0
	}
	return arena.ObjectBytes[Named]() + arena.ListBytes(m.ID)
}
