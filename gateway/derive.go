package gateway

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// exceptionsOf returns a copy of the exceptions in a delta, whose memory belongs to the fetch.
func exceptionsOf(d *events.UnreadDelta) *events.Exceptions {
	set := func(list []uint32) events.Positions {
		if !slices.IsSorted(list) {
			list = slices.Sorted(slices.Values(list))
		}
		return events.PositionsOf(list)
	}
	return &events.Exceptions{ReadPos: d.ReadPos, Excluded: set(d.Excluded), Mentioned: set(d.Mentioned)}
}

// deriveInto sets the fields that a delta of a large channel leaves out, from the channel record.
// Fields that neither has keep their values. deriveInto asks the owner for counts that cannot be
// derived. Called with the lock; e.view is still the view before v.
func (g *Gateway) deriveInto(e *entry, v *view.View) {
	ch := e.ch
	v.Unread, v.Mentions, v.Direct, v.First, v.Latest = e.view.Unread, e.view.Mentions, e.view.Direct, e.view.First, e.view.Latest
	if ch == nil || ch.Record == nil {
		g.ask(e)
		return
	}
	g.deriveCounts(e, v)
}

// learnFirsts remembers the positions of an answer's first messages, if it equals what is derived.
func (e *entry) learnFirsts(v *view.View) {
	e.firsts = view.Firsts{}
	if e.ch == nil || e.ch.Record == nil || e.exceptions == nil || e.ch.Latest.Seq != v.Latest.Seq {
		return
	}
	if n, ok := e.derived(v); ok {
		e.firsts.Learn(v, &n)
	}
}

// derived computes the counts from the channel record, which must exist, and the user's exceptions.
func (e *entry) derived(v *view.View) (events.Counts, bool) {
	x := *e.exceptions
	x.IgnoreAll = v.Details != nil && v.Details.IgnoreAll
	return e.ch.Timeline.Count(&x)
}

// deriveCounts sets the counts, the latest and the first unread message of v from the channel
// record. It reports whether they could be derived.
func (g *Gateway) deriveCounts(e *entry, v *view.View) bool {
	v.Latest = e.ch.Latest
	if e.exceptions == nil {
		g.ask(e)
		return false
	}
	n, ok := e.derived(v)
	if !ok {
		g.ask(e)
		return false
	}
	e.firsts.Derive(v, &e.view, &n, e.ch.LatestAt)
	v.Unread, v.Mentions, v.Direct = n.Unread, n.Mentions, n.Direct
	return true
}

// complete sets the channel's labels and whether it is archived in a view of a delta or an answer,
// from the channel record. Without a record it keeps an answer's values, and asks the owner for
// what a delta leaves open. headPos is the position of the head according to the view's source.
// Called with the lock; e.view is the previous view.
func (g *Gateway) complete(e *entry, v *view.View, headPos uint32, answer bool) {
	ch := e.ch
	if ch == nil {
		return
	}
	if ch.Record == nil && answer {
		ch.whole.Learn(v)
		return
	}
	if ch.Record != nil {
		headPos = max(headPos, ch.Record.HeadPos)
	}
	if ch.whole.Complete(v, &e.view, headPos, ch.Record != nil) {
		g.ask(e)
	}
}
