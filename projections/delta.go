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

// keepUnread appends a record of tidemark.unread; hash is that of the user's id.
func (p *Partition) keepUnread(d *Deltas, m *events.UnreadDelta, hash uint32) {
	p.outBuf = events.AppendUnreadDelta(p.outBuf[:0], m)
	val := d.keep(p.outBuf)
	p.outBuf = events.AppendUnreadKey(p.outBuf[:0], m.UserID, m.ChannelID, m.ThreadID)
	key := d.keep(p.outBuf)
	nu, nc := len(m.UserID), len(m.ChannelID)
	d.Records = append(d.Records, OutRecord{
		Topic: OutUnread, Partition: int32(hash % uint32(p.id.Partitions)),
		Key: key, Value: val, UserID: key[:nu:nu], ChannelID: key[nu+1 : nu+1+nc : nu+1+nc],
	})
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

// tells reports whether a delta tells a message's id, sender and preview. Unlike a query it goes by the log time at the
// channel's head, so that what a delta says is a function of its stamp.
func (c *channel) tells(e *entry, retention int64) bool {
	return c.inTail(e.seq) || c.logTime-e.time <= retention
}

// pastRetention reports whether any message of the channel can have left the index, as tells sees it.
func (c *channel) pastRetention(retention int64) bool { return c.logTime-c.firstTime > retention }
