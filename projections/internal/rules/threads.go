package rules

import (
	"bytes"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// reply holds a post's rows in a thread, between beforeReply and afterPost.
type reply struct {
	thread uint32 // 0: the post is not a reply
	sender uint32 // row of its sender in the thread, 0 = none
}

// beforeReply links a reply to its sender's previous one in the thread, before the reply is added
// to the log.
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

// afterPost adds a post that is in the log to its thread, and to the thread that it is the root of.
func (p *Fold) afterPost(c *state.Channel, e *history.Entry, in reply) {
	if in.thread != 0 {
		p.replied(c, e, in)
	}
	x := p.ExtraOf(c)
	if x == nil || x.Threads == 0 {
		return
	}
	ti := p.ThreadOf(p.Threads.At(x.Threads).Channel, e.ID)
	if ti == 0 {
		return
	}
	t := p.Threads.At(ti)
	p.RefreshRoot(c, t)
	if t.Root != 0 {
		return
	}
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
		p.RefreshRoot(c, t)
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
	if wasGone { // the thread may be gone again before the drain
		p.listThread(in.thread)
	} else {
		p.markThread(in.thread)
	}
}

// editedReply updates a thread's sets when the mentions of a reply change.
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
	if all { // after mentionInThread: for newly mentioned users the view may stay the same
		p.listThread(ti)
	}
	if e.Seq != t.Newest(c.Floor) || bytes.Equal(e.Preview, old.Preview) {
		return
	}
	for fi := t.Follows; fi != 0; fi = p.Follows.At(fi).Next { // the signature does not include the preview
		f := p.Follows.At(fi)
		if s := p.ThreadScopeOf(c, p.Rows.At(f.Row)); s.Follows && s.Pair.Flags&state.RowMember != 0 {
			f.LastSeen = state.SeenUnknown
		}
	}
	p.listThread(ti)
}

// deletedInThread removes a deleted message from its thread, and ends the thread that it is the
// root of.
func (p *Fold) deletedInThread(ci uint32, c *state.Channel, e *history.Entry, users []byte) {
	x := p.ExtraOf(c)
	if x == nil || x.Threads == 0 {
		return
	}
	if ti := p.ThreadOfRoot(ci, c, e); ti != 0 {
		p.Threads.At(ti).Flags |= state.ThreadGone
		p.TouchThread(ti)
		p.listThread(ti)
	}
	if e.Flags&history.Reply == 0 || e.Flags&history.Silent != 0 {
		return
	}
	ti := p.ThreadOfEntry(ci, c, e)
	if ti == 0 {
		return
	}
	t := p.Threads.At(ti)
	p.unsettleDeleted(c, t, e.Seq)
	t.Live.Remove(e.Seq)
	t.Casts.Remove(e.Seq)
	t.Alls.Remove(e.Seq)
	p.TouchThread(ti)
	p.mentionInThread(ci, ti, e, nil, users)
	p.listThread(ti)
}

// unsettleDeleted marks the followers whose pointer the deletion of a reply may move back in a
// former owner's output. These are the followers whose pointer is below the reply. A former owner
// may have published a pointer at the reply, because of a read with_threads that this owner folds
// only later, when the reply is gone.
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

// purgedThreads marks the threads that lose replies in a purge.
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
