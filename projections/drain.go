package projections

import (
	"github.com/tidemark/tidemark/events"
)

// OutTopic says which output topic a record is for.
type OutTopic uint8

// Output topics.
const (
	OutUnread OutTopic = iota
	OutChannels
	OutReceipts
)

// OutRecord is one record to publish. Its slices live until the Deltas it is in is Reset.
type OutRecord struct {
	Topic     OutTopic
	Partition int32
	Key       []byte
	Value     []byte
	UserID    []byte // OutUnread only
	ChannelID []byte
}

// Deltas collects what Drain emits; reuse it to reuse its memory.
type Deltas struct {
	Records []OutRecord
	chunks  [][]byte // all full but the last one in use
	used    int      // chunks in use
}

const deltaChunk = 256 << 10

// Reset empties d and makes the slices of its records invalid.
func (d *Deltas) Reset() {
	d.Records = d.Records[:0]
	for i := range d.chunks {
		d.chunks[i] = d.chunks[i][:0]
	}
	d.used = 0
}

// room returns a chunk with at least n free bytes; chunks never move.
func (d *Deltas) room(n int) *[]byte {
	for ; d.used < len(d.chunks); d.used++ {
		if c := &d.chunks[d.used]; cap(*c)-len(*c) >= n {
			return c
		}
	}
	d.chunks = append(d.chunks, make([]byte, 0, max(deltaChunk, n)))
	return &d.chunks[d.used]
}

// keep copies b into the chunks.
func (d *Deltas) keep(b []byte) []byte {
	c := d.room(len(b))
	n := len(*c)
	*c = append(*c, b...)
	return (*c)[n:len(*c):len(*c)]
}

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

// comparing runs a change of the timeline that is no post, and notes the members of a small channel who see it. Such
// changes are rare, so that comparing costs less than keeping what would tell.
func (p *Partition) comparing(c *channel, change func()) {
	each := p.eachMember
	if c.flags&chLarge != 0 { // a delta tells what was queued all the same
		each = func(c *channel, fn func(ref uint32, r *row)) {
			if x := p.extOf(c); x != nil {
				for _, ref := range x.queuers {
					fn(ref, p.rows.at(ref))
				}
			}
		}
	}
	before := p.sigs[:0]
	each(c, func(_ uint32, r *row) { before = append(before, p.signature(c, r)) })
	p.sigs = before
	change()
	each(c, func(ref uint32, r *row) {
		if p.signature(c, r) != before[0] {
			p.emit(ref)
		}
		before = before[1:]
	})
}

// Quiet says whether nobody will be told what is folded from here on: then Drain is called with nil, and what only a
// record would say is not noted. It changes nothing else and may be left out. Everything must have been drained. Lock is held.
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

// drainRow emits one pair's delta. Unless changed is sure, it is left out where it would say what the last one did.
func (p *Partition) drainRow(d *Deltas, ref uint32, c *channel, r *row, changed bool) {
	if r.flags&rowThread != 0 {
		p.drainThread(d, c, r, p.threads[p.follows.at(r.scope).thread].flags&thReplied != 0)
		return
	}
	if x := p.excOf(r); x != nil && len(x.held)+len(x.floors) > 0 || !changed {
		sig := p.signature(c, r)
		if x != nil {
			if !changed && x.seen == sig {
				return
			}
			if !x.openInTime() {
				x.seen = sig
			}
		}
	}
	if d == nil {
		return
	}
	m := &p.out
	s := p.scopeOf(c, r)
	p.keepOwn(r, &s)
	u := p.users.at(r.user)
	*m = events.UnreadDelta{
		UserID: p.userID(r.user), ChannelID: p.blobs.get(c.id),
		Member: r.flags&rowMember != 0, Muted: r.flags&rowMuted != 0, Large: c.flags&chLarge != 0,
		ReadEpoch: r.marks + 1, Stamp: p.stampOf(c, r),
	}
	if s.ptr > 0 {
		m.LastRead = events.Ref{MessageID: p.idBytes(c, s.ptr, &r.lastSeq, &r.lastID), Seq: s.ptr}
		m.LastReadAt = s.at
	}
	if m.Member {
		n := p.countsOf(c, r, &s)
		m.Mentions, m.OfflineUnread = n.mentions, p.offlineOf(c, r, &s)
		if !m.Large {
			m.Unread = n.unread
			if n.first > 0 {
				m.FirstUnread = events.Ref{MessageID: p.idBytes(c, n.first, &r.firstSeq, &r.firstID), Seq: n.first}
			}
			m.Latest = p.latestBytes(c)
		}
	}
	if m.Large && m.Member {
		above := max(s.ptr, r.base)
		m.ReadPos = p.posAt(c, above)
		m.Excluded = p.excludedOf(c, &s, above)
		m.Mentioned = p.mentionedOf(c, r, above)
	}
	if r.out != 0 {
		o := p.outRows[r.out-1]
		m.InstanceID = p.origins[o.from:o.to]
	}
	p.keepUnread(d, m, u.part)
}

// keepOwn keeps a user's own posts above the pointer in memory once there are many: after a mark far back, or where
// sending does not read, reading them off the log for each delta would cost their number.
func (p *Partition) keepOwn(r *row, s *scope) {
	const many = 32
	if len(s.own) < many {
		return
	}
	if x := p.ensureExc(r); !x.ownKept || x.ownFrom > s.ptr {
		x.own, x.ownFrom, x.ownKept = append([]uint32(nil), s.own...), s.ptr, true
	}
}

// idBytes is the id of message seq; the row remembers the last one told, so that a delta need not look it up again.
func (p *Partition) idBytes(c *channel, seq uint32, memSeq, mem *uint32) []byte {
	if *memSeq == seq && !c.pastRetention(p.settings.IndexRetention) {
		return p.blobs.get(*mem)
	}
	e := p.entryAt(c, seq)
	if c.inTail(seq) {
		return e.id
	}
	if !c.tells(&e, p.settings.IndexRetention) {
		return nil
	}
	p.blobs.release(*mem)
	*memSeq, *mem = seq, p.blobs.put(e.id)
	return p.blobs.get(*mem)
}

// pastRetention reports whether any message of the channel can have left the index, as tells sees it.
func (c *channel) pastRetention(retention int64) bool { return c.logTime-c.firstTime > retention }

// tells reports whether a delta tells a message's id, sender and preview. Unlike a query it goes by the log time at the
// channel's head, so that what a delta says is a function of its stamp.
func (c *channel) tells(e *entry, retention int64) bool {
	return c.inTail(e.seq) || c.logTime-e.time <= retention
}

// latestBytes is latestOf for deltas; it borrows.
func (p *Partition) latestBytes(c *channel) events.Head {
	if c.latest == 0 {
		return events.Head{}
	}
	e := p.entryAt(c, c.latest)
	h := events.Head{Seq: c.latest, Pos: p.posAt(c, c.latest), At: e.time}
	if c.tells(&e, p.settings.IndexRetention) {
		h.MessageID, h.SenderID, h.Preview = e.id, e.sender, e.preview
	}
	return h
}

// drainChannel emits the channel's record.
func (p *Partition) drainChannel(d *Deltas, c *channel) {
	m := &p.outChannel
	*m = events.ChannelRecord{
		ChannelID: p.blobs.get(c.id), Latest: p.latestBytes(c), HeadSeq: c.headSeq, HeadPos: c.headPos,
		MemberCount: c.members, PurgedPos: p.posAt(c, c.floor), Large: c.flags&chLarge != 0,
		Deleted: c.flags&chDeleted != 0, Stamp: events.Stamp{FoldVersion: FoldVersion, M: c.lastM},
	}
	if x := p.extOf(c); x != nil {
		m.Holes, m.HolesFloor = p.listedOf(c, &x.deleted)
		m.Alls, m.AllsFloor = p.listedOf(c, &x.alls)
	}
	p.outBuf = events.AppendChannelRecord(p.outBuf[:0], m)
	val := d.keep(p.outBuf)
	key := d.keep(m.ChannelID)
	d.Records = append(d.Records, OutRecord{Topic: OutChannels, Partition: p.id.Partition, Key: key, Value: val, ChannelID: key})
}

// listedOf lists the newest positions of a set, and the position at or below which there are more.
func (p *Partition) listedOf(c *channel, s *seqset) ([]uint32, uint32) {
	if s.empty() {
		return nil, 0
	}
	seqs := s.newest(nil, 0, listed+1)
	floor := uint32(0)
	if len(seqs) > listed {
		floor = p.posAt(c, seqs[0])
		seqs = seqs[1:]
	}
	for i, q := range seqs {
		seqs[i] = p.posAt(c, q)
	}
	return seqs, floor
}
