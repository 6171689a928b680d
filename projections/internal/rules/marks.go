package rules

import "github.com/tidemark/tidemark/projections/internal/state"

// PairChanged notes that what the pair sees has changed.
func (p *Fold) PairChanged(ref uint32) { p.list(ref, state.RowChanged) }

// PairMayHaveChanged notes that what the pair sees may have changed.
func (p *Fold) PairMayHaveChanged(ref uint32) { p.list(ref, state.RowCheck) }

func (p *Fold) list(ref uint32, flag uint8) {
	r := p.Rows.At(ref)
	if r.OutRow == 0 {
		p.OutRows = append(p.OutRows, state.OutRow{Ref: ref})
		r.OutRow = uint32(len(p.OutRows))
	}
	r.Flags |= flag
	if r.Flags&state.RowThread != 0 {
		p.noteThread(r)
	}
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

// readChanged is emit for a change that a read itself caused: the delta echoes its origin.
func (p *Fold) readChanged(ref uint32, origin []byte) {
	p.PairChanged(ref)
	if p.Replaying {
		return
	}
	o := &p.OutRows[p.Rows.At(ref).OutRow-1]
	o.From = uint32(len(p.Origins))
	p.Origins = append(p.Origins, origin...)
	o.To = uint32(len(p.Origins))
}

// outcome says what a read did, idle if nothing that is seen, and marks the pair for Drain if what
// is seen changed.
func (p *Fold) outcome(ref uint32, c *state.Channel, r *state.Row, before uint64, idle state.Outcome, instance []byte) state.Outcome {
	if p.Signature(c, r) != before {
		p.readChanged(ref, instance)
		return state.OutcomeApplied
	}
	return idle
}

// comparing runs a change of the timeline that is no post, and notes the members of a small channel
// who see it. Such changes are rare, so that comparing costs less than keeping what would tell.
func (p *Fold) comparing(c *state.Channel, change func()) {
	each := p.EachMember
	if c.Flags&state.ChannelLarge != 0 { // a delta tells what was queued all the same
		each = func(c *state.Channel, fn func(ref uint32, r *state.Row)) {
			if x := p.ExtraOf(c); x != nil {
				for _, ref := range x.Queuers {
					fn(ref, p.Rows.At(ref))
				}
			}
		}
	}
	before := p.Sigs[:0]
	each(c, func(_ uint32, r *state.Row) { before = append(before, p.Signature(c, r)) })
	p.Sigs = before
	change()
	each(c, func(ref uint32, r *state.Row) {
		if p.Signature(c, r) != before[0] {
			p.PairChanged(ref)
		}
		before = before[1:]
	})
}

// mentionChanged notes that message seq mentions a member of a large channel now, or no longer. In
// a small channel all members are looked at.
func (p *Fold) mentionChanged(ref uint32, seq uint32) {
	r := p.Rows.At(ref)
	c := p.Channels.At(r.Channel)
	if c.Flags&state.ChannelLarge == 0 || r.Flags&state.RowMember == 0 {
		return
	}
	if s := p.ScopeOf(c, r); seq > max(s.Pointer, r.Baseline) {
		p.PairChanged(ref)
	}
}

// ChannelChanged notes that the channel's own record has changed.
func (p *Fold) ChannelChanged(ci uint32, c *state.Channel) {
	p.listChannel(ci, c, state.OutRecordChanged)
}

// membersChanged notes that what every member sees has changed. In a large channel messages of
// others make no delta.
func (p *Fold) membersChanged(ci uint32, c *state.Channel) {
	if c.Flags&state.ChannelLarge == 0 {
		p.listChannel(ci, c, state.OutMembersChanged)
	}
}

// openChanged notes that what open time targets reach has changed. In a large channel that makes a
// delta only when the target closes (DESIGN §7).
func (p *Fold) openChanged(ci uint32, c *state.Channel) {
	if x := p.ExtraOf(c); x != nil && len(x.Wait.Times) > 0 && c.Flags&state.ChannelLarge == 0 {
		p.listChannel(ci, c, state.OutOpenChanged)
	}
}

func (p *Fold) listChannel(ci uint32, c *state.Channel, flag uint8) {
	if c.Pending&state.OutListed == 0 {
		c.Pending |= state.OutListed
		p.OutChannels = append(p.OutChannels, ci)
	}
	c.Pending |= flag
}

// Quiet turns publishing off for everything that is folded from here on: then Drain is called with
// nil, and marks that only a record would need are left out. It changes nothing else and may be
// left out. Everything must have been drained. Lock is held.
func (p *Fold) Quiet(on bool) { p.Replaying = on }

// Undrained is how many pairs Drain(d, false) has to look at: one event that lets many users join
// lists as many.
func (p *Fold) Undrained() int { return len(p.OutRows) + len(p.Retractions) }
