package projections

import "github.com/tidemark/tidemark/events"

// Erasure (DESIGN §3, UserErased) forgets all that a user did in a channel and its threads so far: pointers, single reads,
// marks and with them epochs, mute, follows, and reads that wait. What chat.messages says of him is not his to forget by a
// read: his membership and his messages are the timeline's.
//
// Messages come first in the one definition, so all his messages are from before the erasure: none of them lifts a pointer
// of his any more, and none makes him follow a thread. He who comes back counts on by what he reads and follows by word.

// noOwn as a row's floorH says that its user was erased: no own post lifts the pointer, for good. It is above all seqs, and
// floors of marks say nothing beside it.
const noOwn = ^uint32(0)

// erased reports whether the row's user was erased in its channel.
func (r *row) erased() bool { return r.floorH == noOwn }

// userErased folds an erasure; ref is the user's row in the channel.
func (p *Partition) userErased(ref uint32, c *channel, r *row, m *events.Read) Outcome {
	before := p.signature(c, r)
	p.eraseRow(ref, r)
	p.forgetReceipts(c, r)
	r.flags &^= rowMuted
	for fi := r.scope; fi != 0; fi = p.follows.at(fi).sibling {
		f := p.follows.at(fi)
		p.eraseRow(f.row, p.rows.at(f.row))
		f.erase()
		f.seen = seenUnknown
	}
	p.emitFollows(r)
	out := p.outcome(ref, c, r, before, false, m.InstanceID)
	if out == OutcomeDuplicate {
		// It is told whatever it changed here, like what there was of threads: an owner before this one may have told more of
		// him, which readers are to forget.
		p.emitRead(ref, m.InstanceID)
	}
	return out
}

// eraseRow forgets what reads and marks made of one scope. Its mentions and own posts are the timeline's.
func (p *Partition) eraseRow(ref uint32, r *row) {
	r.ptr, r.at, r.ev, r.marks, r.floorH = 0, 0, 0, 0, noOwn
	r.public, r.publicAt, r.far = 0, 0, 0
	if x := p.excOf(r); x != nil {
		x.singles.removeFrom(1)
		x.held, x.floors, x.open, x.waiting = nil, nil, nil, nil
		x.queued.removeFrom(1)
		p.touchExc(ref, r)
	}
	p.touchRow(ref, r)
}

// erase forgets what the user said of a thread; nothing is automatic any more, as after an unfollow by word.
func (f *follow) erase() {
	f.flags = foUnfollowed
	f.wordTime, f.wordHorizon, f.wordAt, f.closed = 0, 0, 0, 0
}

// idleFollow reports whether a row in a thread says nothing, so that it has no record. Of an erased user it says nothing
// if it is as a new one would be.
func (p *Partition) idleFollow(r *row, f *follow) bool {
	if !p.rows.at(f.pair).erased() {
		return r.idle() && f.flags == 0 && f.auto == 0
	}
	as := *r
	if as.erased() {
		as.floorH = 0
	}
	return as.idle() && f.flags == foUnfollowed && f.auto == 0
}
