package rules

import "github.com/tidemark/tidemark/projections/internal/state"

// PairChanged marks the user's view of the channel as changed.
func (p *Fold) PairChanged(ref uint32) { p.list(ref, state.RowChanged) }

// PairMayHaveChanged marks the user's view of the channel as possibly changed.
func (p *Fold) PairMayHaveChanged(ref uint32) { p.list(ref, state.RowCheck) }

func (p *Fold) list(ref uint32, flag uint8) {
	r := p.Rows.At(ref)
	p.List(ref, r)
	r.Flags |= flag
	if r.Flags&state.RowThread != 0 {
		p.noteThread(r)
	}
}

// markThread lists a thread for the next drain, which checks all its followers. As with messages in
// a small channel, many changes make one delta for each follower.
func (p *Fold) markThread(ti uint32) {
	if t := p.Threads.At(ti); t.Flags&state.ThreadListed == 0 {
		t.Flags |= state.ThreadListed
		p.OutThreads = append(p.OutThreads, ti)
	}
}

// listThread is markThread for changes that only some followers see: it checks each follower at
// once. Such changes are rare. A reply changes something for all followers, so it uses markThread.
func (p *Fold) listThread(ti uint32) {
	p.markThread(ti)
	for fi := p.Threads.At(ti).Follows; fi != 0; fi = p.Follows.At(fi).Next {
		p.noteThread(p.Rows.At(p.Follows.At(fi).Row))
	}
}

// noteThread records that the user's view of the thread has changed, even if it changes back before
// the next drain. A former owner may have published the state in between and crashed before it
// committed.
func (p *Fold) noteThread(r *state.Row) {
	f := p.FollowOf(r)
	if f.LastSeen == state.SeenUnknown {
		return
	}
	c := p.Channels.At(r.Channel)
	p.CloseFollow(c, f)
	if p.ThreadSignature(c, r) != f.LastSeen {
		f.LastSeen = state.SeenUnknown
	}
}

// followsChanged marks the user's view of all their threads in the channel as possibly changed.
func (p *Fold) followsChanged(pair *state.Row) {
	for fi := p.RareOf(pair).Scope; fi != 0; fi = p.Follows.At(fi).Sibling {
		p.PairMayHaveChanged(p.Follows.At(fi).Row)
	}
}

// readChanged is PairChanged for a change that a read itself caused: the delta echoes the read's
// origin.
func (p *Fold) readChanged(ref uint32, origin []byte) {
	p.PairChanged(ref)
	if p.Replaying {
		return
	}
	o := p.Listed(p.Rows.At(ref))
	o.From = uint32(len(p.Origins))
	p.Origins = append(p.Origins, origin...)
	o.To = uint32(len(p.Origins))
}

// outcome returns the outcome of a read, and marks the pair for Drain if its view changed. idle is
// the outcome if it did not.
func (p *Fold) outcome(ref uint32, c *state.Channel, r *state.Row, before uint64, idle state.Outcome, instance []byte) state.Outcome {
	if p.Signature(c, r) != before {
		p.readChanged(ref, instance)
		return state.OutcomeApplied
	}
	return idle
}

// comparing runs a change of the timeline that is not a post, and marks the members of a small
// channel whose view it changes. Such changes are rare, so comparing all members' signatures costs
// less than maintaining an index of those affected.
func (p *Fold) comparing(c *state.Channel, change func()) {
	each := p.EachMember
	if c.Flags&state.ChannelLarge != 0 { // in a large channel only offline_unread of queuers can change
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

// mentionChanged marks a member of a large channel whom message seq mentions now, or no longer. In
// a small channel the caller marks all members.
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

// ChannelChanged marks the channel record as changed.
func (p *Fold) ChannelChanged(ci uint32, c *state.Channel) {
	p.listChannel(ci, c, state.OutRecordChanged)
}

// membersChanged marks every member's view as changed. In a large channel messages of others make
// no delta.
func (p *Fold) membersChanged(ci uint32, c *state.Channel) {
	if c.Flags&state.ChannelLarge != 0 {
		return
	}
	if c.Pending&state.OutMembersChanged == 0 {
		p.OutMembers += int(c.Members)
	}
	p.listChannel(ci, c, state.OutMembersChanged)
}

// openChanged marks the channel because the reach of open time targets has changed. In a large
// channel that makes a delta only when the target closes (DESIGN §7).
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

// Quiet turns publishing off, or on again, for everything that is folded from here on. While
// publishing is off, the caller passes nil to Drain, and the fold leaves out marks that only
// published records need. Quiet changes nothing else and may be left out. Everything must have been
// drained. The caller holds Lock.
func (p *Fold) Quiet(on bool) { p.Replaying = on }

// Undrained returns about how many pairs the next Drain(d, fanout) processes. It counts a pair twice
// that is listed and in a fan-out. One event that lets many users join lists as many pairs.
func (p *Fold) Undrained(fanout bool) int {
	n := len(p.OutRows) + len(p.Retractions)
	if fanout {
		n += p.OutMembers
	}
	return n
}
