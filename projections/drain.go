package projections

// emit notes that what the pair sees has changed.
func (p *Partition) emit(ref uint32) { p.list(ref, rowChanged) }

// emitCheck notes that what the pair sees may have changed.
func (p *Partition) emitCheck(ref uint32) { p.list(ref, rowCheck) }

func (p *Partition) list(ref uint32, flag uint8) {
	r := p.rows.at(ref)
	if r.out == 0 {
		p.outRows = append(p.outRows, outRow{ref: ref})
		r.out = uint32(len(p.outRows))
	}
	r.flags |= flag
	if r.flags&rowThread != 0 {
		p.noteThread(r)
	}
}

// outRow is a pair to drain, with the origin of the read that changed it last, if one did.
type outRow struct {
	ref      uint32
	from, to uint32 // in Partition.origins
}

// emitRead is emit for a change that a read itself caused: the delta echoes its origin.
func (p *Partition) emitRead(ref uint32, origin []byte) {
	p.emit(ref)
	if p.quiet {
		return
	}
	o := &p.outRows[p.rows.at(ref).out-1]
	o.from = uint32(len(p.origins))
	p.origins = append(p.origins, origin...)
	o.to = uint32(len(p.origins))
}

// emitMention notes for a member of a large channel that message seq mentions him now, or no longer. In a small channel
// all members are looked at.
func (p *Partition) emitMention(ref uint32, seq uint32) {
	r := p.rows.at(ref)
	c := p.chans.at(r.ch)
	if c.flags&chLarge == 0 || r.flags&rowMember == 0 {
		return
	}
	if s := p.scopeOf(c, r); seq > max(s.ptr, r.base) {
		p.emit(ref)
	}
}

// emitChannel notes that the channel's own record has changed.
func (p *Partition) emitChannel(ci uint32, c *channel) { p.listChannel(ci, c, outRecord) }

// emitMembers notes that what every member sees has changed. In a large channel messages of others make no delta.
func (p *Partition) emitMembers(ci uint32, c *channel) {
	if c.flags&chLarge == 0 {
		p.listChannel(ci, c, outMembers)
	}
}

func (p *Partition) listChannel(ci uint32, c *channel, flag uint8) {
	if c.pending&outListed == 0 {
		c.pending |= outListed
		p.outChans = append(p.outChans, ci)
	}
	c.pending |= flag
}

// Quiet says whether nobody will be told what is folded from here on: then Drain is called with nil, and what only a
// record would say is not noted. It changes nothing else and may be left out. Everything must have been drained. Lock
// is held.
func (p *Partition) Quiet(on bool) { p.quiet = on }

// Undrained is how many pairs Drain(d, false) has to look at: one event that lets many users join lists as many.
func (p *Partition) Undrained() int { return len(p.outRows) + len(p.farewells) }

// Drain appends a record for everything that changed since the last Drain. With fanout false it leaves the channels'
// records, and what messages changed for the members of small channels, for a later call: until then the position must
// neither be committed nor cut. Where d is nil nobody is told: what was published before is settled as if it had been
// emitted, and nothing is looked up or encoded for it. Lock is held.
func (p *Partition) Drain(d *Deltas, fanout bool) {
	for i := range p.outRows {
		if d != nil && i%warmRows == 0 {
			p.warmDrain(p.outRows[i:min(i+warmRows, len(p.outRows))])
		}
		ref := p.outRows[i].ref
		r := p.rows.at(ref)
		changed := r.flags&rowChanged != 0
		r.flags &^= rowChanged | rowCheck
		c := p.chans.at(r.ch)
		if fanout && c.pending&outMembers != 0 && r.flags&rowMember != 0 {
			continue // with the other members, below
		}
		p.drainRow(d, ref, c, r, changed)
	}
	if fanout {
		for _, ci := range p.outChans {
			c := p.chans.at(ci)
			pending := c.pending
			c.pending = 0
			if pending&outMembers != 0 {
				p.eachMember(c, func(ref uint32, r *row) { p.drainRow(d, ref, c, r, true) })
			}
			if pending&outRecord != 0 && d != nil {
				p.drainChannel(d, c)
			}
		}
		p.outChans = p.outChans[:0]
		p.drainThreads(d)
		p.drainReceipts(d)
	}
	p.drainFarewells(d)
	for i := range p.outRows {
		p.rows.at(p.outRows[i].ref).out = 0
	}
	p.outRows = p.outRows[:0]
	p.origins = p.origins[:0]
}

// DrainRecords appends the records of channels that changed, which Drain without the fan-out leaves. What their members
// see is still left, and the position neither to be committed nor cut. Lock is held.
func (p *Partition) DrainRecords(d *Deltas) {
	kept := p.outChans[:0]
	for _, ci := range p.outChans {
		c := p.chans.at(ci)
		if c.pending&outRecord != 0 {
			p.drainChannel(d, c)
		}
		if c.pending &^= outRecord; c.pending&outMembers == 0 {
			c.pending = 0
			continue
		}
		kept = append(kept, ci)
	}
	p.outChans = kept
}
