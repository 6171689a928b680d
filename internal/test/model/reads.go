package model

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// standing is the result of one user's reads in one scope, a channel or a thread (DESIGN §4.3).
type standing struct {
	pointer spot            // by reads and marks alone
	floorH  uint32          // a mark took back own posts up to here
	singles map[uint32]bool // read singly, above the pointer
	marks   uint32          // how many epochs marks and flags began
	far     uint32          // the furthest that reads of any kind ever moved the pointer to
	lastR   int64           // next offset after the user's last record in the channel
	// withThreads belongs to a thread's standing: the furthest target of the reads of the channel
	// with_threads that no mark in the thread took back (DESIGN §4.7).
	withThreads spot
}

// spot is the seq of a pointer and the origin of that value. The zero spot is none.
type spot struct {
	seq   uint32
	at    int64
	event projections.Event
	own   bool // an own post
}

// reader replays the reads of one user over a finished timeline.
type reader struct {
	timeline *timeline
	channel  *channel
	thread   string  // the scope; empty = the channel's own
	own      []*post // the user's own posts that lift their pointer, in order
	// channelMarks is the number of epochs that marks and flags of the channel's own scope began.
	channelMarks uint32
	standing
}

// readsOf replays all of a user's reads in a channel, or in one of its threads.
func (m *Model) readsOf(user, channelID, thread string) *reader {
	t := m.timeline()
	r := &reader{timeline: t, channel: t.channels[channelID], thread: thread, standing: standing{singles: map[uint32]bool{}}}
	for _, p := range r.channel.posts {
		if p.sender == user && r.lifts(p) && p.reads(m.settings) {
			r.own = append(r.own, p) // even if it was deleted later
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

// lifts reports whether an own post reads the scope up to itself. A broadcast reply does so in its
// thread and in the channel.
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
		r.own, r.channelMarks = nil, 0 // messages come first, so all of them precede the erasure
		return
	}
	if len(e.ThreadID) == 0 {
		defer r.countMark(e)
	}
	if string(e.ThreadID) != r.thread {
		if e.WithThreads && !r.staleInChannel(e) {
			if s := r.target(rec); s > r.withThreads.seq {
				r.withThreads = spot{seq: s, event: rec.name()}
			}
		}
		return // another scope
	}
	stale := e.ReadEpoch != 0 && e.ReadEpoch < 1+r.marks
	switch e.Kind {
	case events.KindReadUpTo:
		if s := r.target(rec); !stale {
			r.far = max(r.far, s)
			if s > r.pointer.seq {
				r.pointer = spot{seq: s, at: e.OccurredAt, event: rec.name()}
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
	case events.KindFlagSet:
		if e.Flagged {
			r.marks++ // it begins an epoch without moving the pointer
		}
	}
	r.dropSingles(func(seq uint32) bool { return seq <= r.pointer.seq })
}

// countMark counts the epochs of the channel's scope.
func (r *reader) countMark(e *events.Read) {
	if e.Kind == events.KindMarkedUnread || (e.Kind == events.KindFlagSet && e.Flagged) {
		r.channelMarks++
	}
}

// staleInChannel reports whether a read of the channel states an epoch that is over.
func (r *reader) staleInChannel(e *events.Read) bool {
	return e.ReadEpoch != 0 && e.ReadEpoch < 1+r.channelMarks
}

// mark takes the pointer back to before a message. Own posts from before the mark have lifted the
// pointer until then; a mark that moves anything takes them all back for good.
func (r *reader) mark(rec *readRecord) {
	target := r.marked(rec)
	head, known := r.head(rec)
	if target == nil || !known {
		return // it waits for its message, or has expired
	}
	was := r.pointer
	if o := r.ownIn(r.floorH, head); o.seq != 0 && o.seq >= was.seq {
		was = o
	}
	s := target.seq
	dropped := r.dropSingles(func(seq uint32) bool { return seq >= s })
	switch {
	case max(was.seq, r.withThreads.seq) >= s:
		r.withThreads = spot{}
		r.pointer = spot{seq: s - 1, at: rec.event.OccurredAt, event: rec.name()}
	case dropped:
		r.pointer = was
	default:
		return // it moves nothing
	}
	r.floorH = max(r.floorH, head)
}

// marked returns the message that a mark names by id or by seq, nil if there is none.
func (r *reader) marked(rec *readRecord) *post {
	if p := r.find(rec, rec.event.MessageID); p != nil {
		return p
	}
	p := r.timeline.named(r.channel, nil, rec.event.Seq, rec.now)
	if p == nil || p.logTime > rec.lastsUntil {
		return nil
	}
	return p
}

// head returns the seq up to which own posts precede a mark. It is not known while the mark names
// the head by an id that does not exist.
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
	return r.timeline.upTo(r.channel, r.seen(rec), e.OccurredAt, rec.now), true
}

// target returns the seq that a read_up_to reads up to, 0 if there is no such message.
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
		return r.timeline.upTo(r.channel, r.seen(rec), e.TargetTime, rec.now)
	}
	return 0
}

// seen returns the messages that the event can apply to: those posted before it expired. Log time
// never runs backwards, so they are a prefix of the channel.
func (r *reader) seen(rec *readRecord) []*post {
	posts := r.channel.posts
	for i, p := range posts {
		if p.logTime > rec.lastsUntil {
			return posts[:i]
		}
	}
	return posts
}

// find returns the message that a read names by id, nil if there is none.
func (r *reader) find(rec *readRecord, id []byte) *post {
	return r.timeline.awaited(r.channel, id, rec.now, rec.lastsUntil)
}

// ownIn returns the newest own post in (low, high].
func (r *reader) ownIn(low, high uint32) spot {
	s := spot{}
	for _, p := range r.own {
		if p.seq > low && p.seq <= high {
			s = spot{seq: p.seq, at: p.time, own: true, event: projections.Event{Input: events.Messages, Offset: p.offset}}
		}
	}
	return s
}

// shown returns the pointer. Own posts that no mark took back also lift it, and win a tie.
func (r *reader) shown() spot {
	if o := r.ownIn(r.floorH, r.channel.head()); o.seq != 0 && o.seq >= r.pointer.seq {
		return o
	}
	p := r.pointer
	if p.own && r.timeline.settings.TrimLog {
		p.at = r.timeline.told(r.channel, r.channel.at(p.seq))
	}
	return p
}

// dropSingles removes single reads and reports whether there were any.
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
