package projections

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// The record formats, byte by byte, are in docs/formats.md. Numbers are varints unless stated
// otherwise; signed ones are zigzag.

// appendChannel encodes the channel record: its numbers, and the messages of the open log block.
func (p *Partition) appendChannel(b []byte, ci uint32, c *state.Channel) []byte {
	ending := p.rules.EndedAt(ci)
	b = append(b, c.Flags|ending.Flag())
	for _, v := range [...]uint32{c.HeadSeq, c.HeadPos, c.Latest, c.Floor, c.Members, c.Ords} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	b = binary.AppendUvarint(b, uint64(c.LastM))
	if c.Flags&state.ChannelUpdated != 0 {
		x := p.rules.ChannelExtras.At(c.Extra)
		b = records.AppendLabels(wire.AppendBool(b, x.Archived), x.Labels)
	}
	if c.HeadSeq == 0 {
		return b
	}
	b = binary.AppendVarint(b, c.FirstTime)
	b = binary.AppendVarint(b, c.Time)
	b = binary.AppendUvarint(b, uint64(c.LogTime-c.Time))
	seed := p.rules.SeedOf(c)
	if seed > 0 {
		b = binary.AppendUvarint(b, uint64(seed))
		b = binary.AppendUvarint(b, uint64(p.rules.ChannelExtras.At(c.Extra).SeedLog-c.FirstTime))
	}
	b = wire.AppendBytes(b, p.rules.Blobs.Get(c.MaxID))
	for _, v := range [...]uint32{c.MaxSeq, c.Anchor, c.Plain} {
		b = binary.AppendUvarint(b, uint64(c.HeadSeq-v))
	}
	b = ending.Append(append(b, c.Run), c)
	for s := p.openBlock(c); s <= c.HeadSeq; s++ {
		b = wire.AppendBytes(b, p.rules.Blobs.Get(c.Tail[s%history.BlockLen]))
	}
	return b
}

// openBlock returns the seq with which the open block of a channel's log begins.
func (p *Partition) openBlock(c *state.Channel) uint32 {
	seed := p.rules.SeedOf(c)
	return seed + (c.HeadSeq-seed)/history.BlockLen*history.BlockLen + 1
}

func (p *Partition) decodeChannel(ci uint32, c *state.Channel, b []byte) error {
	r := wire.Reader{B: b}
	flags := r.Byte()
	c.Flags = flags &^ state.ChannelTrimmed
	for _, v := range [...]*uint32{&c.HeadSeq, &c.HeadPos, &c.Latest, &c.Floor, &c.Members, &c.Ords} {
		*v = r.U32()
	}
	c.LastM = int64(r.Uvarint())
	if c.Flags&state.ChannelUpdated != 0 {
		x := p.rules.EnsureExtra(c)
		x.Archived, x.Labels = r.Byte() != 0, records.ReadLabels(&r)
		p.rules.Customized++
	}
	if c.Flags&state.ChannelNewFormat != 0 {
		p.rules.Customized++
	}
	if c.HeadSeq == 0 || r.Err != nil {
		return r.Done()
	}
	c.FirstTime, c.Time = r.Varint(), r.Varint()
	c.LogTime = c.Time + int64(r.Uvarint())
	if c.Flags&state.ChannelSeeded != 0 {
		x := p.rules.EnsureExtra(c)
		x.Seeded, x.SeedLog = r.U32(), c.FirstTime+int64(r.Uvarint())
		if x.Seeded == 0 || x.Seeded > c.HeadSeq {
			return fmt.Errorf("%d of its %d messages are seeded", x.Seeded, c.HeadSeq)
		}
		p.rules.SeededChannels++
	}
	c.MaxID = p.rules.Blobs.Put(r.Bytes())
	for _, v := range [...]*uint32{&c.MaxSeq, &c.Anchor, &c.Plain} {
		*v = c.HeadSeq - r.U32()
	}
	c.Run = r.Byte()
	if err := p.rules.LoadEnding(ci, c, flags, &r); err != nil {
		return err
	}
	for s := p.openBlock(c); s <= c.HeadSeq && r.Err == nil; s++ {
		if err := p.loadTail(c, s, r.Bytes()); err != nil {
			return err
		}
	}
	return r.Done()
}

// loadTail adds a stored message to the tail.
func (p *Partition) loadTail(c *state.Channel, seq uint32, enc []byte) error {
	var e history.Entry
	if err := e.Decode(seq, enc); err != nil {
		return fmt.Errorf("message %d: %w", seq, err)
	}
	c.Tail[seq%history.BlockLen] = p.rules.Blobs.Put(enc)
	c.TailTag[seq%history.BlockLen] = state.TagOf(state.IDHash(e.ID))
	return nil
}

// appendPage encodes the members with ordinals [page*keys.PageLen, ...): the user id and the row of
// each.
func (p *Partition) appendPage(b []byte, c *state.Channel, page uint32) []byte {
	for ord := page * keys.PageLen; ord < min((page+1)*keys.PageLen, c.Ords); ord++ {
		r := p.rules.Rows.At(p.rules.MemberRow(c, ord))
		b = wire.AppendBytes(b, p.rules.UserID(r.User))
		b = records.AppendRow(b, r, p.rules.ExtraOfPair(r))
	}
	return b
}

func (p *Partition) decodePage(ci uint32, c *state.Channel, page uint32, b []byte) error {
	rd := wire.Reader{B: b}
	for ord := page * keys.PageLen; len(rd.B) > 0 && rd.Err == nil; ord++ {
		id := rd.Bytes()
		if len(id) == 0 {
			return fmt.Errorf("member %d has no user id", ord)
		}
		ref, r := p.rules.EnsureRow(ci, p.rules.EnsureUser(id))
		r.Ord = ord
		records.ReadRow(&rd, r, &p.rules.State)
		p.rules.SetMember(c, ord, ref)
	}
	return rd.Done()
}
