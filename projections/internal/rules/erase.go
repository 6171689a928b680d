package rules

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Erasure (DESIGN §3, UserErased) forgets all that a user did in a channel and its threads so far:
// pointers, single reads, marks and with them epochs, mute, follows, and reads that wait.
// Membership and messages are the timeline's: no read forgets what chat.messages says.
//
// Messages come first in the one definition, so all messages of the user are from before the
// erasure. None of them lifts the user's pointer any more, and none makes the user follow a thread.
// Users who come back count on by what they read and follow by word.

// userErased folds an erasure; ref is the user's row in the channel.
func (p *Fold) userErased(ref uint32, c *state.Channel, r *state.Row, m *events.Read) state.Outcome {
	before := p.Signature(c, r)
	p.eraseRow(ref, r)
	p.forgetReceipts(c, r)
	p.SetSaid(ref, r, state.Said{})
	for fi := r.Scope; fi != 0; fi = p.Follows.At(fi).Sibling {
		f := p.Follows.At(fi)
		p.eraseRow(f.Row, p.Rows.At(f.Row))
		f.Erase()
		f.LastSeen = state.SeenUnknown
	}
	p.followsChanged(r)
	out := p.outcome(ref, c, r, before, state.OutcomeDuplicate, m.InstanceID)
	if out == state.OutcomeDuplicate {
		// It is told whatever it changed here, like what there was of threads: an owner before this
		// one may have told more of the user, which readers are to forget.
		p.readChanged(ref, m.InstanceID)
	}
	return out
}

// eraseRow forgets what reads and marks made of one scope. Its mentions and own posts are the
// timeline's.
func (p *Fold) eraseRow(ref uint32, r *state.Row) {
	r.Pointer, r.At, r.Event, r.Marks, r.OwnFloor = 0, 0, 0, 0, state.NoOwn
	r.Public, r.PublicAt, r.Far = 0, 0, 0
	if x := p.ExtraOfPair(r); x != nil {
		x.Singles.RemoveFrom(1)
		x.Unsettled, x.Floors, x.OpenReads, x.WaitingDeliveries = nil, nil, nil, nil
		x.Queued.RemoveFrom(1)
		x.Hidden.Erase()
		x.WithThreads.Erase()
		p.TouchPairExtra(ref, r)
	}
	p.TouchRow(ref, r)
}

// FollowIdle reports whether a row in a thread says nothing, so that it has no record. Of an erased
// user it says nothing if it is as a new one would be.
func (p *Fold) FollowIdle(r *state.Row, f *state.Follow) bool {
	if !p.Rows.At(f.Pair).Erased() {
		return r.Idle() && f.Flags == 0 && f.Auto == 0
	}
	as := *r
	if as.Erased() {
		as.OwnFloor = 0
	}
	return as.Idle() && f.Flags == state.FollowStopped && f.Auto == 0
}
