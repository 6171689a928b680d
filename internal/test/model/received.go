package model

import (
	"slices"

	"github.com/tidemark/tidemark/events"
)

// receiptsKept is how long answers have the times of receipts, in milliseconds of log time: 90 days
// (DESIGN §4.5).
const receiptsKept = 90 * 24 * 60 * 60 * 1000

// span is a membership: the user was a member when the messages after from, up to to, were posted.
type span struct {
	from, to uint32
	open     bool // not ended yet
}

// recipient reports whether the user was a member when p was posted, and is not its sender.
func (c *channel) recipient(p *post, user string) bool {
	return user != p.sender && !p.hiddenTo(user) && slices.ContainsFunc(c.spans[user], func(s span) bool {
		return s.from < p.seq && (s.open || p.seq <= s.to)
	})
}

// erased reports whether the user was ever erased in the channel. None of its lists contains them
// from then on.
func (m *Model) erased(user, channelID string) bool {
	return slices.ContainsFunc(m.reads, func(r readRecord) bool {
		return r.event.Kind == events.KindUserErased && string(r.event.UserID) == user && string(r.event.ChannelID) == channelID
	})
}

// receipt is the content of one event: everything up to seq, or the message seq alone, at a time.
type receipt struct {
	seq    uint32
	single bool
	at     int64
}

func (r receipt) covers(p *post) bool { return r.seq == p.seq || (!r.single && r.seq > p.seq) }

// publicReads returns the user's public reads in a scope as receipts, regardless of epochs and
// marks.
func (m *Model) publicReads(user, channelID, thread string) (out []receipt) {
	r := m.readsOf(user, channelID, thread)
	r.channelMarks = 0 // counted again below
	for i := range m.reads {
		rec := &m.reads[i]
		e := &rec.event
		if string(e.UserID) != user || string(e.ChannelID) != channelID {
			continue
		}
		stale := r.staleInChannel(e)
		if len(e.ThreadID) == 0 {
			r.countMark(e)
		}
		if e.Kind == events.KindUserErased {
			r.channelMarks = 0
		}
		if e.WithThreads && thread != "" && !stale && !e.Private {
			if s := r.target(rec); s != 0 {
				out = append(out, receipt{seq: s, at: e.OccurredAt})
			}
		}
		if string(e.ThreadID) != thread || e.Private {
			continue
		}
		switch e.Kind {
		case events.KindReadUpTo:
			if s := r.target(rec); s != 0 {
				out = append(out, receipt{seq: s, at: e.OccurredAt})
			}
		case events.KindMessagesRead:
			for _, id := range e.IDs {
				if p := r.find(rec, id); p != nil && r.has(p) {
					out = append(out, receipt{p.seq, true, e.OccurredAt})
				}
			}
		}
	}
	return out
}

// deliveriesOf returns the user's deliveries as receipts.
func (m *Model) deliveriesOf(user, channelID string) (out []receipt) {
	r := m.readsOf(user, channelID, "")
	for i := range m.deliveries {
		rec := &m.deliveries[i]
		e := &rec.event
		if string(e.UserID) != user || string(e.ChannelID) != channelID || e.Kind != events.KindDelivered {
			continue
		}
		id, single := e.MessageID, true
		if len(id) == 0 {
			id, single = e.UpToID, false
		}
		if p := r.findDelivered(rec, id); p != nil {
			out = append(out, receipt{p.seq, single, e.OccurredAt})
		}
	}
	return out
}

// findDelivered is find for a delivery.
func (r *reader) findDelivered(rec *deliveryRecord, id []byte) *post {
	return r.timeline.awaited(r.channel, id, rec.now, rec.lastsUntil)
}

// scope returns the thread whose reads read the message; "" for the channel's own scope.
func (p *post) scope() string {
	if p.inChannel() {
		return ""
	}
	return p.thread
}

// readAt returns the earliest time at which the user read p according to an event, and whether
// there is such an event.
func (m *Model) readAt(p *post, user, channelID string) (at int64, read bool) {
	note := func(t int64) {
		if t = max(t, p.time); !read || t < at {
			at, read = t, true
		}
	}
	for _, r := range m.publicReads(user, channelID, p.scope()) {
		if r.covers(p) {
			note(r.at)
		}
	}
	for _, o := range m.ownLifting(user, channelID, p.scope()) {
		if o.seq > p.seq {
			note(o.time)
		}
	}
	if t, viewed := m.viewedAt(p, user, channelID); viewed {
		note(t)
	}
	return at, read
}

// ownLifting returns the user's own posts in a scope that read up to themselves.
func (m *Model) ownLifting(user, channelID, thread string) (out []*post) {
	r := &reader{timeline: m.timeline(), channel: m.timeline().channels[channelID], thread: thread}
	for _, p := range r.channel.posts {
		if p.reads(m.settings) && p.sender == user && r.lifts(p) {
			out = append(out, p)
		}
	}
	return out
}

// deliveredAt returns the earliest time at which p was delivered to the user or read by them, and
// whether it was.
func (m *Model) deliveredAt(p *post, user, channelID string) (at int64, delivered bool) {
	at, delivered = m.readAt(p, user, channelID)
	if !p.small {
		return at, delivered
	}
	for _, r := range m.deliveriesOf(user, channelID) {
		if t := max(r.at, p.time); r.covers(p) && (!delivered || t < at) {
			at, delivered = t, true
		}
	}
	return at, delivered
}

// viewedAt returns the earliest time at which the user viewed p, never before p's own time, and
// whether they did. Large channels have no views.
func (m *Model) viewedAt(p *post, user, channelID string) (at int64, viewed bool) {
	if !p.small {
		return 0, false
	}
	r := &reader{timeline: m.timeline(), channel: m.timeline().channels[channelID]}
	for i := range m.reads {
		rec := &m.reads[i]
		e := &rec.event
		if e.Kind != events.KindMessagesViewed || string(e.UserID) != user || string(e.ChannelID) != channelID {
			continue
		}
		for _, id := range e.IDs {
			if t := max(e.OccurredAt, p.time); r.find(rec, id) == p && (!viewed || t < at) {
				at, viewed = t, true
			}
		}
	}
	return at, viewed
}
