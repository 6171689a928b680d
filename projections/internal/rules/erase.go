package rules

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// An erasure (DESIGN §3, UserErased) removes everything that a user did in a channel and its
// threads so far: pointers, single reads, marks and their epochs, mute, follows, and waiting reads.
// Membership and messages are part of the timeline, and no read changes the timeline.
//
// In the one definition, messages come before all reads, so all messages of the user precede the
// erasure. None of them lifts the user's pointer any more, and none makes the user follow a thread.
// For users who come back, only their new reads and explicit follows count.

// userErased folds an erasure; ref is the user's row in the channel.
func (p *Fold) userErased(ref uint32, c *state.Channel, r *state.Row, m *events.Read) state.Outcome {
	before := p.Signature(c, r)
	p.eraseRow(ref, r)
	p.forgetReceipts(c, r)
	p.SetSettings(ref, r, state.UserSettings{})
	for fi := p.RareOf(r).Scope; fi != 0; fi = p.Follows.At(fi).Sibling {
		f := p.Follows.At(fi)
		p.eraseRow(f.Row, p.Rows.At(f.Row))
		f.Erase()
		f.LastSeen = state.SeenUnknown
	}
	p.followsChanged(r)
	out := p.outcome(ref, c, r, before, state.OutcomeDuplicate, m.InstanceID)
	if out == state.OutcomeDuplicate {
		// Publish this even if nothing changed here, and likewise the user's threads: a former
		// owner may have published more about the user, which readers have to drop.
		p.readChanged(ref, m.InstanceID)
	}
	return out
}

// eraseRow removes the effects of reads and marks on one scope. Mentions and own posts belong to
// the timeline and stay.
func (p *Fold) eraseRow(ref uint32, r *state.Row) {
	p.Move(r, 0, 0, 0)
	all := p.EnsureRare(r)
	all.Marks, all.OwnFloor = 0, state.NoOwn
	all.Public, all.PublicAt, all.Far = 0, 0, 0
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

// FollowIdle reports whether a thread row has no content, and so needs no record. An erased user's
// row has no content if it equals a new row of that user.
func (p *Fold) FollowIdle(r *state.Row, f *state.Follow) bool {
	if !p.Erased(p.Rows.At(f.Pair)) {
		return p.Idle(r) && f.Flags == 0 && f.Auto == 0
	}
	return p.IdleErased(r) && f.Flags == state.FollowStopped && f.Auto == 0
}
