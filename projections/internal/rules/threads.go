package rules

import (
	"bytes"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// reply is a post's part in a thread, between beforeReply and afterPost.
type reply struct {
	thread uint32 // 0: it has none
	sender uint32 // row of its sender in the thread, 0 = none
}

// beforeReply chains a reply to its sender's last one in the thread, before it is entered into the
// log.
func (p *Fold) beforeReply(ci uint32, c *state.Channel, e *history.Entry) (in reply) {
	if e.Flags&history.Reply == 0 || e.Flags&history.Silent != 0 {
		return in
	}
	in.thread = p.EnsureThread(ci, c, e.Thread)
	if len(e.Sender) == 0 {
		return in
	}
	pair, _ := p.EnsureRow(ci, p.EnsureUser(e.Sender))
	ref, r := p.EnsureThreadRow(in.thread, pair)
	if x := p.ExtraOfPair(r); x != nil && x.OwnKept {
		x.Own = append(x.Own, e.Seq)
	}
	e.PrevIn = r.LastOwn
	e.ReadBeforeIn = p.NoteOwn(ref, r, e)
	in.sender = ref
	return in
}

// afterPost enters a post that is in the log into its thread, and into the thread whose root it is.
func (p *Fold) afterPost(c *state.Channel, e *history.Entry, in reply) {
	if in.thread != 0 {
		p.replied(c, e, in)
	}
	x := p.ExtraOf(c)
	if x == nil || x.Threads == 0 {
		return
	}
	ti := p.ThreadOf(p.Threads.At(x.Threads).Channel, e.ID)
	if ti == 0 || p.Threads.At(ti).Root != 0 {
		return
	}
	t := p.Threads.At(ti)
	t.Root = e.Seq
	p.TouchThread(ti)
	if t.First != 0 {
		p.followByRoot(c, ti, t)
	}
}

func (p *Fold) replied(c *state.Channel, e *history.Entry, in reply) {
	t := p.Threads.At(in.thread)
	wasGone := t.Gone(c)
	switch {
	case e.Flags&history.Broadcast != 0:
		t.Casts.Add(e.Seq)
	default:
		t.Live.Add(e.Seq)
		if e.Flags&history.MentionsAll != 0 {
			t.Alls.Add(e.Seq)
		}
	}
	t.Replied.Set(e.Seq, e.Time)
	p.TouchThread(in.thread)
	if t.First == 0 {
		t.First = e.Seq
		if t.Root != 0 {
			p.followByRoot(c, in.thread, t)
		}
	} else if t.Flags&state.ThreadUnseen != 0 {
		p.followByRoot(c, in.thread, t)
	}
	if in.sender != 0 {
		p.followFromReply(in.sender, e.Seq)
		p.Settle(in.sender)
		p.PairMayHaveChanged(in.sender)
	}
	p.mentionInThread(t.Channel, in.thread, e, e.Users, nil)
	t.Flags |= state.ThreadReplied
	if wasGone { // and may be gone again when it is drained
		p.listThread(in.thread)
	} else {
		p.outThread(in.thread)
	}
}

// followByRoot makes the root's author follow from the first reply on that is not hidden from them.
func (p *Fold) followByRoot(c *state.Channel, ti uint32, t *state.Thread) {
	root := p.EntryAt(c, t.Root)
	if len(root.Sender) == 0 {
		return
	}
	pair, in := p.EnsureRow(t.Channel, p.EnsureUser(root.Sender))
	first := uint32(0)
	if t.Flags&state.ThreadUnseen == 0 {
		first = p.firstReplyFor(c, t, in)
	} else if !p.IsHiddenFrom(in, c.HeadSeq) {
		first = c.HeadSeq // the reply that is folded
	}
	if t.Flags &^= state.ThreadUnseen; first == 0 {
		t.Flags |= state.ThreadUnseen
		p.TouchThread(ti)
		return
	}
	ref, _ := p.EnsureThreadRow(ti, pair)
	p.followFromReply(ref, first)
	p.PairMayHaveChanged(ref)
}

// followFromReply makes the row's user follow from a reply on, itself included, if not from earlier
// on.
func (p *Fold) followFromReply(ref, seq uint32) {
	r := p.Rows.At(ref)
	if f := p.Follows.At(r.Scope); f.Auto == 0 || seq < f.Auto {
		f.Auto = seq
		p.TouchRow(ref, r)
		if f.Flags&state.FollowStopped == 0 {
			f.LastSeen = state.SeenUnknown // replies that counted from here on may be read singly by now
		}
	}
}

// mentionInThread makes those follow whom a reply mentions now, and keeps the sets of its mentions.
// A broadcast reply counts in the channel, mentions too.
func (p *Fold) mentionInThread(ci, ti uint32, e *history.Entry, now, before []byte) {
	if len(now) == 0 && len(before) == 0 {
		return
	}
	set := func(id []byte, is bool) {
		pair, in := p.EnsureRow(ci, p.EnsureUser(id))
		if p.IsHiddenFrom(in, e.Seq) {
			return
		}
		ref, r := p.EnsureThreadRow(ti, pair)
		if is {
			p.followFromReply(ref, e.Seq)
		}
		if e.Flags&history.Broadcast == 0 {
			if m := &p.EnsurePairExtra(r).Mentions; is {
				m.Add(e.Seq)
			} else {
				m.Remove(e.Seq)
			}
			p.TouchPairExtra(ref, r)
		}
		p.PairMayHaveChanged(ref)
	}
	history.EachUser(before, func(id []byte) {
		if !hasUser(now, id) {
			set(id, false)
		}
	})
	history.EachUser(now, func(id []byte) { set(id, true) })
}

func hasUser(users, id []byte) (has bool) {
	history.EachUser(users, func(o []byte) { has = has || bytes.Equal(o, id) })
	return has
}

// editedReply keeps a thread's sets when the mentions of a reply change.
func (p *Fold) editedReply(ci uint32, c *state.Channel, e, old *history.Entry) {
	if e.Flags&history.Reply == 0 || e.Flags&history.Silent != 0 {
		return
	}
	ti := p.EnsureThread(ci, c, e.Thread)
	t := p.Threads.At(ti)
	all := (old.Flags^e.Flags)&history.MentionsAll != 0 && e.Flags&history.Broadcast == 0
	if all {
		if e.Flags&history.MentionsAll != 0 {
			t.Alls.Add(e.Seq)
		} else {
			t.Alls.Remove(e.Seq)
		}
		p.TouchThread(ti)
	}
	p.mentionInThread(ci, ti, e, e.Users, old.Users)
	if all { // not before: whom it mentions by name now may see as much as before
		p.listThread(ti)
	}
	if e.Seq != t.Newest(c.Floor) || bytes.Equal(e.Preview, old.Preview) {
		return
	}
	for fi := t.Follows; fi != 0; fi = p.Follows.At(fi).Next { // what a hash does not show
		f := p.Follows.At(fi)
		if s := p.ThreadScopeOf(c, p.Rows.At(f.Row)); s.Follows && s.Pair.Flags&state.RowMember != 0 {
			f.LastSeen = state.SeenUnknown
		}
	}
	p.listThread(ti)
}

// deletedInThread takes a deleted message out of its thread, and ends the thread whose root it is.
func (p *Fold) deletedInThread(ci uint32, c *state.Channel, e *history.Entry, users []byte) {
	x := p.ExtraOf(c)
	if x == nil || x.Threads == 0 {
		return
	}
	if ti := p.ThreadOf(ci, e.ID); ti != 0 && p.Threads.At(ti).Root == e.Seq {
		p.Threads.At(ti).Flags |= state.ThreadGone
		p.TouchThread(ti)
		p.listThread(ti)
	}
	if e.Flags&history.Reply == 0 || e.Flags&history.Silent != 0 {
		return
	}
	ti := p.EnsureThread(ci, c, e.Thread)
	t := p.Threads.At(ti)
	p.unsettleDeleted(c, t, e.Seq)
	t.Live.Remove(e.Seq)
	t.Casts.Remove(e.Seq)
	t.Alls.Remove(e.Seq)
	p.TouchThread(ti)
	p.mentionInThread(ci, ti, e, nil, users)
	p.listThread(ti)
}

// unsettleDeleted notes whom the deletion of a reply may move the pointer back for, though it was
// not unread for them: the followers above whose pointer it is. An owner before this one may have
// told that a read with_threads put it there, which this one folds later, when the reply is gone.
func (p *Fold) unsettleDeleted(c *state.Channel, t *state.Thread, seq uint32) {
	if !t.Live.Contains(seq) {
		return
	}
	for fi := t.Follows; fi != 0; fi = p.Follows.At(fi).Next {
		f := p.Follows.At(fi)
		s := p.ThreadScopeOf(c, p.Rows.At(f.Row))
		if from, is := p.FollowFrom(c, f); is && seq > max(s.Pointer, from) {
			f.LastSeen = state.SeenUnknown
		}
	}
}

// purgedThreads notes the threads of which a purge takes anything.
func (p *Fold) purgedThreads(c *state.Channel, from, to uint32) {
	x := p.ExtraOf(c)
	if x == nil {
		return
	}
	for ti := x.Threads; ti != 0; ti = p.Threads.At(ti).Next {
		t := p.Threads.At(ti)
		lowest := t.Live.Next(from + 1)
		cast := t.Casts.Next(from + 1)
		if (lowest != 0 && lowest <= to) || (cast != 0 && cast <= to) || (t.Root > from && t.Root <= to) {
			p.listThread(ti)
		}
	}
}

// followByWord is thread_followed and thread_unfollowed.
func (p *Fold) followByWord(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *state.PendingEvent) state.Outcome {
	before := p.Signature(c, r)
	f := p.Follows.At(r.Scope)
	was := *f
	switch {
	case m.Kind == events.KindThreadUnfollowed:
		f.Flags = state.FollowStopped
		f.ExplicitTime, f.ExplicitHorizon, f.ExplicitAt = 0, 0, 0
	case f.Flags&state.FollowExplicit == 0:
		f.Flags |= state.FollowExplicit
		f.ExplicitTime, f.ExplicitHorizon, f.ExplicitAt = h.At, h.Horizon, h.At
	default:
		f.ExplicitTime, f.ExplicitHorizon, f.ExplicitAt = min(f.ExplicitTime, h.At), min(f.ExplicitHorizon, h.Horizon), max(f.ExplicitAt, h.At)
	}
	f.Closed = 0
	if was.Flags == f.Flags && was.ExplicitTime == f.ExplicitTime && was.ExplicitHorizon == f.ExplicitHorizon && was.ExplicitAt == f.ExplicitAt {
		return p.outcome(ref, c, r, before, state.OutcomeDuplicate, m.InstanceID)
	}
	p.TouchRow(ref, r)
	f.LastSeen = state.SeenUnknown // replies that counted from here on may be gone by now
	p.readChanged(ref, m.InstanceID)
	return state.OutcomeApplied
}

// outThread notes that the followers of a thread are to be looked at. As with messages in a small
// channel, many changes make one delta for each follower.
func (p *Fold) outThread(ti uint32) {
	if t := p.Threads.At(ti); t.Flags&state.ThreadListed == 0 {
		t.Flags |= state.ThreadListed
		p.OutThreads = append(p.OutThreads, ti)
	}
}

// listThread is outThread for changes that not every follower sees: it looks at each, now. They are
// rare; a reply, which changes something for all of them, costs no more for many.
func (p *Fold) listThread(ti uint32) {
	p.outThread(ti)
	for fi := p.Threads.At(ti).Follows; fi != 0; fi = p.Follows.At(fi).Next {
		p.noteThread(p.Rows.At(p.Follows.At(fi).Row))
	}
}

// noteThread remembers that what the row's user sees of the thread has changed, even if it changes
// back before the next drain: an owner before this one may have published what was in between, and
// died before the group knew.
func (p *Fold) noteThread(r *state.Row) {
	f := p.Follows.At(r.Scope)
	if f.LastSeen == state.SeenUnknown {
		return
	}
	c := p.Channels.At(r.Channel)
	p.CloseFollow(c, f)
	if p.ThreadSignature(c, r) != f.LastSeen {
		f.LastSeen = state.SeenUnknown
	}
}

// followsChanged notes that what the user sees of all their threads in the channel may have
// changed.
func (p *Fold) followsChanged(pair *state.Row) {
	for fi := pair.Scope; fi != 0; fi = p.Follows.At(fi).Sibling {
		p.PairMayHaveChanged(p.Follows.At(fi).Row)
	}
}

// threadsRead settles the threads of a user who read them with their channel, and notes that what
// the user sees of them may have changed. before is how far such reads reached: a thread in which
// nothing was said between there and where they reach now shows what it showed. Users who follow
// 10,000 threads read them with each read.
func (p *Fold) threadsRead(c *state.Channel, r *state.Row, before uint32) {
	now := p.ThreadsReached(c, r)
	low, high := min(before, now), max(before, now)
	for fi := r.Scope; fi != 0; fi = p.Follows.At(fi).Sibling {
		f := p.Follows.At(fi)
		t := p.Rows.At(f.Row)
		if !saidWithin(&p.Threads.At(f.Thread).Live, low, high) && f.LastSeen != state.SeenUnknown &&
			!t.HasMarks() && !p.ExtraOfPair(t).Holds() {
			continue
		}
		if t.HasMarks() {
			p.Settle(f.Row)
		}
		p.PairMayHaveChanged(f.Row)
	}
}

// saidWithin reports whether a set has a member above low, up to high.
func saidWithin(live *seqset.Set, low, high uint32) bool {
	if live.Max() <= low {
		return false
	}
	next := live.Next(low + 1)
	return next != 0 && next <= high
}

// echoInThreads makes the deltas of the threads that a read reaches echo its origin, and reports
// whether there are any.
func (p *Fold) echoInThreads(r *state.Row, origin []byte) (any bool) {
	for fi := r.Scope; fi != 0; fi = p.Follows.At(fi).Sibling {
		f := p.Follows.At(fi)
		if f.LastSeen == state.SeenUnknown {
			p.readChanged(f.Row, origin)
			any = true
		}
	}
	return any
}
