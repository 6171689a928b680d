package projections

import (
	"bytes"

	"github.com/tidemark/tidemark/events"
)

// reply is a post's part in a thread, between beforeReply and afterPost.
type reply struct {
	thread uint32 // 0: it has none
	sender uint32 // row of its sender in the thread, 0 = none
}

// beforeReply chains a reply to its sender's last one in the thread, before it is entered into the log.
func (p *Partition) beforeReply(ci uint32, c *channel, e *entry) (in reply) {
	if e.flags&entReply == 0 || e.flags&entSilent != 0 {
		return in
	}
	in.thread = p.ensureThread(ci, c, e.thread)
	if len(e.sender) == 0 {
		return in
	}
	pair, _ := p.ensureRow(ci, p.ensureUser(e.sender))
	ref, r := p.ensureThreadRow(in.thread, pair)
	if x := p.excOf(r); x != nil && x.ownKept {
		x.own = append(x.own, e.seq)
	}
	e.prevIn, r.lastOwn, r.ownAt = r.lastOwn, e.seq, e.time
	p.touchRow(ref, r)
	in.sender = ref
	return in
}

// afterPost enters a post that is in the log into its thread, and into the thread whose root it is.
func (p *Partition) afterPost(c *channel, e *entry, in reply) {
	if in.thread != 0 {
		p.replied(c, e, in)
	}
	x := p.extOf(c)
	if x == nil || x.threads == 0 {
		return
	}
	ti := p.threadOf(p.threads[x.threads].ch, e.id)
	if ti == 0 || p.threads[ti].root != 0 {
		return
	}
	t := p.threads[ti]
	t.root = e.seq
	p.touchThread(ti)
	if t.first != 0 {
		p.followByRoot(c, ti, t)
	}
}

func (p *Partition) replied(c *channel, e *entry, in reply) {
	t := p.threads[in.thread]
	wasGone := t.gone(c)
	switch {
	case e.flags&entBroadcast != 0:
		t.casts.add(e.seq)
	default:
		t.live.add(e.seq)
		if e.flags&entAll != 0 {
			t.alls.add(e.seq)
		}
	}
	p.touchThread(in.thread)
	if t.first == 0 {
		t.first = e.seq
		if t.root != 0 {
			p.followByRoot(c, in.thread, t)
		}
	}
	if in.sender != 0 {
		p.followFromReply(in.sender, e.seq)
		p.settle(in.sender)
		p.emitCheck(in.sender)
	}
	p.mentionInThread(t.ch, in.thread, e, e.users, nil)
	t.flags |= thReplied
	if wasGone { // and may be gone again when it is drained
		p.listThread(in.thread)
	} else {
		p.outThread(in.thread)
	}
}

// followByRoot makes the root's author follow from the first reply on.
func (p *Partition) followByRoot(c *channel, ti uint32, t *thread) {
	root := p.entryAt(c, t.root)
	if len(root.sender) == 0 {
		return
	}
	pair, _ := p.ensureRow(t.ch, p.ensureUser(root.sender))
	ref, _ := p.ensureThreadRow(ti, pair)
	p.followFromReply(ref, t.first)
	p.emitCheck(ref)
}

// followFromReply makes the row's user follow from a reply on, itself included, if not from earlier on.
func (p *Partition) followFromReply(ref, seq uint32) {
	r := p.rows.at(ref)
	if f := p.follows.at(r.scope); f.auto == 0 || seq < f.auto {
		f.auto = seq
		p.touchRow(ref, r)
		if f.flags&foUnfollowed == 0 {
			f.seen = seenUnknown // replies that counted from here on may be read singly by now
		}
	}
}

// mentionInThread makes those follow whom a reply mentions now, and keeps the sets of its mentions. A broadcast reply
// counts in the channel, mentions too.
func (p *Partition) mentionInThread(ci, ti uint32, e *entry, now, before []byte) {
	if len(now) == 0 && len(before) == 0 {
		return
	}
	set := func(id []byte, is bool) {
		pair, _ := p.ensureRow(ci, p.ensureUser(id))
		ref, r := p.ensureThreadRow(ti, pair)
		if is {
			p.followFromReply(ref, e.seq)
		}
		if e.flags&entBroadcast == 0 {
			if m := &p.ensureExc(r).mentions; is {
				m.add(e.seq)
			} else {
				m.remove(e.seq)
			}
			p.touchExc(ref, r)
		}
		p.emitCheck(ref)
	}
	eachUser(before, func(id []byte) {
		if !hasUser(now, id) {
			set(id, false)
		}
	})
	eachUser(now, func(id []byte) { set(id, true) })
}

func hasUser(users, id []byte) (has bool) {
	eachUser(users, func(o []byte) { has = has || bytes.Equal(o, id) })
	return has
}

// editedReply keeps a thread's sets when the mentions of a reply change.
func (p *Partition) editedReply(ci uint32, c *channel, e, old *entry) {
	if e.flags&entReply == 0 || e.flags&entSilent != 0 {
		return
	}
	ti := p.ensureThread(ci, c, e.thread)
	t := p.threads[ti]
	all := (old.flags^e.flags)&entAll != 0 && e.flags&entBroadcast == 0
	if all {
		if e.flags&entAll != 0 {
			t.alls.add(e.seq)
		} else {
			t.alls.remove(e.seq)
		}
		p.touchThread(ti)
	}
	p.mentionInThread(ci, ti, e, e.users, old.users)
	if all { // not before: whom it mentions by name now may see as much as before
		p.listThread(ti)
	}
	if e.seq != t.newest(c.floor) || bytes.Equal(e.preview, old.preview) {
		return
	}
	for fi := t.follows; fi != 0; fi = p.follows.at(fi).next { // what a hash does not show
		f := p.follows.at(fi)
		if s := p.threadScopeOf(c, p.rows.at(f.row)); s.follows && s.pair.flags&rowMember != 0 {
			f.seen = seenUnknown
		}
	}
	p.listThread(ti)
}

// deletedInThread takes a deleted message out of its thread, and ends the thread whose root it is.
func (p *Partition) deletedInThread(ci uint32, c *channel, e *entry, users []byte) {
	x := p.extOf(c)
	if x == nil || x.threads == 0 {
		return
	}
	if ti := p.threadOf(ci, e.id); ti != 0 && p.threads[ti].root == e.seq {
		p.threads[ti].flags |= thGone
		p.touchThread(ti)
		p.listThread(ti)
	}
	if e.flags&entReply == 0 || e.flags&entSilent != 0 {
		return
	}
	ti := p.ensureThread(ci, c, e.thread)
	t := p.threads[ti]
	t.live.remove(e.seq)
	t.casts.remove(e.seq)
	t.alls.remove(e.seq)
	p.touchThread(ti)
	p.mentionInThread(ci, ti, e, nil, users)
	p.listThread(ti)
}

// purgedThreads notes the threads of which a purge takes anything.
func (p *Partition) purgedThreads(c *channel, from, to uint32) {
	x := p.extOf(c)
	if x == nil {
		return
	}
	for ti := x.threads; ti != 0; ti = p.threads[ti].next {
		t := p.threads[ti]
		lowest := t.live.next(from + 1)
		cast := t.casts.next(from + 1)
		if (lowest != 0 && lowest <= to) || (cast != 0 && cast <= to) || (t.root > from && t.root <= to) {
			p.listThread(ti)
		}
	}
}

// followByWord is thread_followed and thread_unfollowed.
func (p *Partition) followByWord(ref uint32, c *channel, r *row, m *events.Read, h *held) Outcome {
	before := p.signature(c, r)
	f := p.follows.at(r.scope)
	was := *f
	switch {
	case m.Kind == events.KindThreadUnfollowed:
		f.flags = foUnfollowed
		f.wordTime, f.wordHorizon, f.wordAt = 0, 0, 0
	case f.flags&foWord == 0:
		f.flags |= foWord
		f.wordTime, f.wordHorizon, f.wordAt = h.at, h.horizon, h.at
	default:
		f.wordTime, f.wordHorizon, f.wordAt = min(f.wordTime, h.at), min(f.wordHorizon, h.horizon), max(f.wordAt, h.at)
	}
	f.closed = 0
	if was.flags == f.flags && was.wordTime == f.wordTime && was.wordHorizon == f.wordHorizon && was.wordAt == f.wordAt {
		return p.outcome(ref, c, r, before, false, m.InstanceID)
	}
	p.touchRow(ref, r)
	f.seen = seenUnknown // replies that counted from here on may be gone by now
	p.emitRead(ref, m.InstanceID)
	return OutcomeApplied
}

// outThread notes that the followers of a thread are to be looked at. As with messages in a small channel, many changes
// make one delta for each follower.
func (p *Partition) outThread(ti uint32) {
	if t := p.threads[ti]; t.flags&thListed == 0 {
		t.flags |= thListed
		p.outThreads = append(p.outThreads, ti)
	}
}

// listThread is outThread for changes that not every follower sees: it looks at each, now. They are rare; a reply, which
// changes something for all of them, costs no more for many.
func (p *Partition) listThread(ti uint32) {
	p.outThread(ti)
	for fi := p.threads[ti].follows; fi != 0; fi = p.follows.at(fi).next {
		p.noteThread(p.rows.at(p.follows.at(fi).row))
	}
}

// noteThread remembers that what the row's user sees of the thread has changed, even if it changes back before the next
// drain: an owner before this one may have published what was in between, and died before the group knew.
func (p *Partition) noteThread(r *row) {
	f := p.follows.at(r.scope)
	if f.seen == seenUnknown {
		return
	}
	c := p.chans.at(r.ch)
	p.closeFollow(c, f)
	if p.threadSignature(c, r) != f.seen {
		f.seen = seenUnknown
	}
}

// emitFollows notes that what the user sees of all his threads in the channel may have changed.
func (p *Partition) emitFollows(pair *row) {
	for fi := pair.scope; fi != 0; fi = p.follows.at(fi).sibling {
		p.emitCheck(p.follows.at(fi).row)
	}
}
