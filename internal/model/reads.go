package model

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// standing is what one user's reads in one scope, a channel or a thread, come to (DESIGN §4.3).
type standing struct {
	pointer spot            // by reads and marks alone
	floorH  uint32          // own posts up to here were taken back by a mark
	singles map[uint32]bool // read singly, above the pointer
	marks   uint32
	far     uint32 // the furthest that reads of any kind ever moved the pointer to
	muted   bool
	lastR   int64 // next offset after the user's last record in the channel
}

// spot is a seq that a pointer stands on, and what put it there. The zero spot is none.
type spot struct {
	seq   uint32
	at    int64
	event projections.Event
}

// reader replays the reads of one user over a finished timeline.
type reader struct {
	timeline *timeline
	channel  *channel
	thread   string  // the scope; empty = the channel's own
	own      []*post // the user's own posts that lift his pointer, in order
	standing
}

// readsOf replays all of a user's reads in a channel, or in one of its threads.
func (m *Model) readsOf(user, channelID, thread string) *reader {
	t := m.timeline()
	r := &reader{timeline: t, channel: t.channels[channelID], thread: thread, standing: standing{singles: map[uint32]bool{}}}
	for _, p := range r.channel.posts {
		if p.sender == user && r.lifts(p) && m.settings.SendMarksRead {
			r.own = append(r.own, p) // whatever was deleted later
		}
	}
	for i := range m.reads {
		rec := &m.reads[i]
		if string(rec.event.UserID) == user && string(rec.event.ChannelID) == channelID {
			r.lastR = rec.offset + 1
			r.apply(rec)
		}
	}
	return r
}

// lifts reports whether an own post reads the scope up to itself. A broadcast reply does so in its thread and in the
// channel.
func (r *reader) lifts(p *post) bool {
	if r.thread == "" {
		return p.counted()
	}
	return p.replyIn(r.thread)
}

// counts reports whether the message is of a kind that counts in the scope.
func (r *reader) counts(p *post) bool {
	if r.thread == "" {
		return p.counted()
	}
	return p.replyIn(r.thread) && !p.broadcast
}

// has reports whether the message can be read singly in the scope.
func (r *reader) has(p *post) bool {
	if r.thread == "" {
		return p.inChannel()
	}
	return p.thread == r.thread && !p.broadcast
}

func (r *reader) apply(rec *readRecord) {
	e := &rec.event
	if e.Kind == events.KindUserErased { // the channel and all its threads
		r.standing = standing{singles: map[uint32]bool{}, lastR: r.lastR}
		r.own = nil // messages come first, so all of them are from before
		return
	}
	if string(e.ThreadID) != r.thread {
		return // another scope
	}
	stale := e.ReadEpoch != 0 && e.ReadEpoch < 1+r.marks
	switch e.Kind {
	case events.KindReadUpTo:
		if s := r.target(rec); !stale {
			r.far = max(r.far, s)
			if s > r.pointer.seq {
				r.pointer = spot{s, e.OccurredAt, rec.name()}
			}
		}
	case events.KindMessagesRead:
		for _, id := range e.IDs {
			if p := r.find(rec, id); !stale && p != nil && r.has(p) && p.seq > r.pointer.seq {
				r.singles[p.seq] = true
			}
		}
	case events.KindMarkedUnread:
		r.marks++
		r.mark(rec)
	case events.KindChannelMuted:
		r.muted = e.Muted
	}
	r.dropSingles(func(seq uint32) bool { return seq <= r.pointer.seq })
}

// mark takes the pointer back to before a message. Own posts from before the mark have lifted the pointer until then;
// a mark that moves anything takes them all back for good.
func (r *reader) mark(rec *readRecord) {
	target := r.find(rec, rec.event.MessageID)
	head, known := r.head(rec)
	if target == nil || !known {
		return // it waits, or is void
	}
	was := r.pointer
	if o := r.ownIn(r.floorH, head); o.seq != 0 && o.seq >= was.seq {
		was = o
	}
	s := target.seq
	dropped := r.dropSingles(func(seq uint32) bool { return seq >= s })
	switch {
	case was.seq >= s:
		r.pointer = spot{s - 1, rec.event.OccurredAt, rec.name()}
	case dropped:
		r.pointer = was
	default:
		return // it moves nothing
	}
	r.floorH = max(r.floorH, head)
}

// head is the seq up to which own posts are before a mark. It is not known while it is named by an id that is not there.
func (r *reader) head(rec *readRecord) (seq uint32, known bool) {
	e := &rec.event
	switch {
	case e.HeadSeq != 0:
		return min(e.HeadSeq, lastSeq(r.seen(rec), func(*post) bool { return true })), true
	case len(e.HeadMessageID) > 0:
		if p := r.find(rec, e.HeadMessageID); p != nil {
			return p.seq, true
		}
		return 0, false
	}
	return lastSeq(r.seen(rec), func(p *post) bool { return p.time <= e.OccurredAt }), true
}

// target is the seq that a read_up_to reads up to, 0 if it is not there.
func (r *reader) target(rec *readRecord) uint32 {
	e := &rec.event
	switch e.Target {
	case events.TargetMessageID:
		if p := r.find(rec, e.MessageID); p != nil {
			return p.seq
		}
	case events.TargetSeq:
		return lastSeq(r.seen(rec), func(p *post) bool { return p.seq == e.Seq })
	case events.TargetTime:
		return lastSeq(r.seen(rec), func(p *post) bool { return p.time <= e.TargetTime })
	}
	return 0
}

// seen are the messages that the event can apply to: those posted before it lapsed. Log time never runs backwards, so
// they are the first ones of the channel.
func (r *reader) seen(rec *readRecord) []*post {
	posts := r.channel.posts
	for i, p := range posts {
		if p.logTime > rec.lastsUntil {
			return posts[:i]
		}
	}
	return posts
}

// find is the message that a read names by id, nil if it is not there.
func (r *reader) find(rec *readRecord, id []byte) *post {
	p := r.timeline.find(r.channel, id, rec.now)
	if p == nil || p.logTime > rec.lastsUntil {
		return nil
	}
	return p
}

// ownIn is the newest own post in (low, high].
func (r *reader) ownIn(low, high uint32) spot {
	s := spot{}
	for _, p := range r.own {
		if p.seq > low && p.seq <= high {
			s = spot{p.seq, p.time, projections.Event{Input: events.Messages, Offset: p.offset}}
		}
	}
	return s
}

// shown is where the pointer stands: own posts that no mark took back lift it too, and win a tie.
func (r *reader) shown() spot {
	if o := r.ownIn(r.floorH, r.channel.head()); o.seq != 0 && o.seq >= r.pointer.seq {
		return o
	}
	return r.pointer
}

// dropSingles forgets single reads and reports whether there were any such.
func (r *reader) dropSingles(which func(seq uint32) bool) bool {
	any := false
	for seq := range r.singles {
		if which(seq) {
			delete(r.singles, seq)
			any = true
		}
	}
	return any
}

func (rec *readRecord) name() projections.Event {
	return projections.Event{Input: events.Reads, Offset: rec.offset}
}
