package projections

import (
	"encoding/binary"
	"fmt"
)

// Record formats, byte by byte in docs/formats.md. Numbers are varints unless said otherwise; signed ones are zigzag.

// appendChannel encodes the channel record: its numbers, and the messages of the open log block.
func (p *Partition) appendChannel(b []byte, c *channel) []byte {
	b = append(b, c.flags)
	for _, v := range [...]uint32{c.headSeq, c.headPos, c.latest, c.floor, c.members, c.ords} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	b = binary.AppendUvarint(b, uint64(c.lastM))
	if c.headSeq == 0 {
		return b
	}
	b = binary.AppendVarint(b, c.firstTime)
	b = binary.AppendVarint(b, c.time)
	b = binary.AppendUvarint(b, uint64(c.logTime-c.time))
	b = appendBytes(b, p.blobs.get(c.maxID))
	for _, v := range [...]uint32{c.maxSeq, c.anchor, c.plain} {
		b = binary.AppendUvarint(b, uint64(c.headSeq-v))
	}
	b = append(b, c.run)
	for s := c.headSeq/tailLen*tailLen + 1; s <= c.headSeq; s++ {
		b = appendBytes(b, p.blobs.get(c.tail[s%tailLen]))
	}
	return b
}

func (p *Partition) decodeChannel(c *channel, b []byte) error {
	r := reader{b: b}
	c.flags = r.byte()
	for _, v := range [...]*uint32{&c.headSeq, &c.headPos, &c.latest, &c.floor, &c.members, &c.ords} {
		*v = r.u32()
	}
	c.lastM = int64(r.uvarint())
	if c.headSeq == 0 || r.err != nil {
		return r.done()
	}
	c.firstTime, c.time = r.varint(), r.varint()
	c.logTime = c.time + int64(r.uvarint())
	c.maxID = p.blobs.put(r.bytes())
	for _, v := range [...]*uint32{&c.maxSeq, &c.anchor, &c.plain} {
		*v = c.headSeq - r.u32()
	}
	c.run = r.byte()
	for s := c.headSeq/tailLen*tailLen + 1; s <= c.headSeq && r.err == nil; s++ {
		if err := p.loadTail(c, s, r.bytes()); err != nil {
			return err
		}
	}
	return r.done()
}

// loadTail puts a stored message into the tail.
func (p *Partition) loadTail(c *channel, seq uint32, enc []byte) error {
	var e entry
	if err := e.decode(seq, enc); err != nil {
		return fmt.Errorf("message %d: %w", seq, err)
	}
	c.tail[seq%tailLen] = p.blobs.put(enc)
	c.tailTag[seq%tailLen] = tagOf(idHash(e.id))
	return nil
}

// Parts of a row record, in its first byte.
const (
	recMember = 1 << iota
	recMuted
	recPointer
	recOwn
	recMarks
	recRead
	recDelivery
	recMore
)

// Parts of a row record that are rare, in a byte of their own.
const (
	recPublic = 1 << iota
	recFar
)

// appendRow encodes what a row says, without its user; parts that say nothing are left out.
func appendRow(b []byte, r *row) []byte {
	at := len(b)
	b = append(b, 0)
	b = binary.AppendUvarint(b, uint64(r.base))
	f := byte(0)
	if r.flags&rowMember != 0 {
		f |= recMember
	}
	if r.flags&rowMuted != 0 {
		f |= recMuted
	}
	if r.ptr != 0 || r.at != 0 || r.ev != 0 {
		f |= recPointer
		b = binary.AppendUvarint(b, uint64(r.ptr))
		b = binary.AppendVarint(b, r.at)
		b = binary.AppendUvarint(b, uint64(r.ev))
	}
	if r.lastOwn != 0 || r.floorH != 0 {
		f |= recOwn
		b = binary.AppendUvarint(b, uint64(r.lastOwn))
		b = binary.AppendUvarint(b, uint64(r.floorH))
		b = binary.AppendVarint(b, r.ownAt)
	}
	if r.marks != 0 {
		f |= recMarks
		b = binary.AppendUvarint(b, uint64(r.marks))
	}
	if r.lastR != 0 {
		f |= recRead
		b = binary.AppendVarint(b, r.lastR-r.ev>>1)
	}
	if r.lastD != 0 {
		f |= recDelivery
		b = binary.AppendUvarint(b, uint64(r.lastD))
	}
	more := byte(0)
	if r.public != r.ptr || r.publicAt != r.at {
		more |= recPublic
	}
	if r.far != r.ptr {
		more |= recFar
	}
	if more != 0 {
		f |= recMore
		b = append(b, more)
	}
	if more&recPublic != 0 {
		b = binary.AppendUvarint(b, uint64(r.public))
		b = binary.AppendVarint(b, r.publicAt)
	}
	if more&recFar != 0 {
		b = binary.AppendUvarint(b, uint64(r.far))
	}
	b[at] = f
	return b
}

func (r *reader) row(to *row) {
	f := r.byte()
	to.base = r.u32()
	if f&recMember != 0 {
		to.flags |= rowMember
	}
	if f&recMuted != 0 {
		to.flags |= rowMuted
	}
	if f&recPointer != 0 {
		to.ptr, to.at, to.ev = r.u32(), r.varint(), int64(r.uvarint())
	}
	if f&recOwn != 0 {
		to.lastOwn, to.floorH, to.ownAt = r.u32(), r.u32(), r.varint()
	}
	if f&recMarks != 0 {
		to.marks = r.u32()
	}
	if f&recRead != 0 {
		to.lastR = r.varint() + to.ev>>1
	}
	if f&recDelivery != 0 {
		to.lastD = int64(r.uvarint())
	}
	more := byte(0)
	if f&recMore != 0 {
		more = r.byte()
	}
	to.public, to.publicAt, to.far = to.ptr, to.at, to.ptr
	if more&recPublic != 0 {
		to.public, to.publicAt = r.u32(), r.varint()
	}
	if more&recFar != 0 {
		to.far = r.u32()
	}
}

// idle reports whether a guest's row says nothing: then it has no record.
func (r *row) idle() bool {
	return r.flags&(rowMember|rowMuted) == 0 && r.base == 0 && r.ptr == 0 && r.at == 0 && r.ev == 0 &&
		r.lastOwn == 0 && r.floorH == 0 && r.marks == 0 && r.lastR == 0 && r.lastD == 0 && r.public == 0 && r.far == 0
}

// appendPage encodes the members with ordinals [page*pageLen, ...): user id and row of each.
func (p *Partition) appendPage(b []byte, c *channel, page uint32) []byte {
	for ord := page * pageLen; ord < min((page+1)*pageLen, c.ords); ord++ {
		r := p.rows.at(p.member(c, ord))
		b = appendBytes(b, p.userID(r.user))
		b = appendRow(b, r)
	}
	return b
}

func (p *Partition) decodePage(ci uint32, c *channel, page uint32, b []byte) error {
	rd := reader{b: b}
	for ord := page * pageLen; len(rd.b) > 0 && rd.err == nil; ord++ {
		id := rd.bytes()
		if len(id) == 0 {
			return fmt.Errorf("member %d has no user id", ord)
		}
		ref, r := p.ensureRow(ci, p.ensureUser(id))
		r.ord = ord
		rd.row(r)
		p.setMember(c, ord, ref)
	}
	return rd.done()
}
