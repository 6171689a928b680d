package rules

import (
	"bytes"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// followByRoot lets the root's author follow the thread from its first reply that is not hidden
// from them, unless chat.messages has forgotten the root by then.
func (p *Fold) followByRoot(c *state.Channel, ti uint32, t *state.Thread) {
	root := p.EntryAt(c, t.Root)
	if len(root.Sender) == 0 || !p.Remembers(root.LogTime, p.MessageTime) {
		return
	}
	pair, in := p.EnsureRow(t.Channel, p.EnsureUser(root.Sender))
	first := uint32(0)
	if t.Flags&state.ThreadUnseen == 0 {
		first = p.firstReplyFor(c, t, in)
	} else if !p.IsHiddenFrom(in, c.HeadSeq) {
		first = c.HeadSeq // the reply being folded
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

// followFromReply lets the row's user follow from this reply on, unless they follow from an earlier
// one.
func (p *Fold) followFromReply(ref, seq uint32) {
	r := p.Rows.At(ref)
	if f := p.FollowOf(r); f.Auto == 0 || seq < f.Auto {
		f.Auto = seq
		p.TouchRow(ref, r)
		if f.Flags&state.FollowStopped == 0 {
			f.LastSeen = state.SeenUnknown // replies from here on may have been read singly already
		}
	}
}

// mentionInThread lets the users follow whom a reply mentions now, and updates its sets of
// mentions. A broadcast reply counts in the channel only, and so do its mentions.
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

// followByWord folds thread_followed and thread_unfollowed.
func (p *Fold) followByWord(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *held.Event) state.Outcome {
	before := p.Signature(c, r)
	f := p.FollowOf(r)
	was := *f
	switch {
	case m.Kind == events.KindThreadUnfollowed:
		f.Flags = state.FollowStopped
		f.ExplicitTime, f.ExplicitHorizon, f.ExplicitAt, f.ExplicitNow, f.Closed = 0, 0, 0, 0, 0
	case f.Flags&state.FollowExplicit == 0:
		f.Flags |= state.FollowExplicit
		f.ExplicitTime, f.ExplicitHorizon, f.ExplicitAt, f.ExplicitNow, f.Closed = h.At, h.Horizon, h.At, h.Now, 0
	default:
		if h.At < f.ExplicitTime || h.Horizon < f.ExplicitHorizon {
			f.ExplicitNow, f.Closed = h.Now, 0
		}
		f.ExplicitTime, f.ExplicitHorizon, f.ExplicitAt = min(f.ExplicitTime, h.At), min(f.ExplicitHorizon, h.Horizon), max(f.ExplicitAt, h.At)
	}
	if !p.Settings.TrimLog {
		f.ExplicitNow = 0
	} else if p.CloseFollow(c, f); f.Closed == 0 {
		p.AwaitFollow(ref)
		p.forgetHints()
	}
	if was.Flags == f.Flags && was.ExplicitTime == f.ExplicitTime && was.ExplicitHorizon == f.ExplicitHorizon && was.ExplicitAt == f.ExplicitAt {
		return p.outcome(ref, c, r, before, state.OutcomeDuplicate, m.InstanceID)
	}
	p.TouchRow(ref, r)
	f.LastSeen = state.SeenUnknown // replies from here on may be gone already
	p.readChanged(ref, m.InstanceID)
	return state.OutcomeApplied
}

// threadsRead settles the threads of a user who read them with their channel, and lists those whose
// view may have changed. before is how far such reads reached until now. A thread without replies
// between before and the new reach looks the same as before and is skipped: a user who follows
// 10,000 threads reads all of them with each such read.
func (p *Fold) threadsRead(c *state.Channel, r *state.Row, before uint32) {
	now := p.ThreadsReached(c, r)
	low, high := min(before, now), max(before, now)
	for fi := p.RareOf(r).Scope; fi != 0; fi = p.Follows.At(fi).Sibling {
		f := p.Follows.At(fi)
		t := p.Rows.At(f.Row)
		if !anyWithin(&p.Threads.At(f.Thread).Live, low, high) && f.LastSeen != state.SeenUnknown &&
			!p.HasMarks(t) && !p.ExtraOfPair(t).Holds() {
			continue
		}
		if p.HasMarks(t) {
			p.Settle(f.Row)
		}
		p.PairMayHaveChanged(f.Row)
	}
}

// anyWithin reports whether a set has a member in (low, high].
func anyWithin(live *seqset.Set, low, high uint32) bool {
	if live.Max() <= low {
		return false
	}
	next := live.Next(low + 1)
	return next != 0 && next <= high
}

// echoInThreads adds a read's origin to the deltas of the threads that the read reaches, and
// reports whether there are any.
func (p *Fold) echoInThreads(r *state.Row, origin []byte) (any bool) {
	for fi := p.RareOf(r).Scope; fi != 0; fi = p.Follows.At(fi).Sibling {
		f := p.Follows.At(fi)
		if f.LastSeen == state.SeenUnknown {
			p.readChanged(f.Row, origin)
			any = true
		}
	}
	return any
}
