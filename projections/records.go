package projections

import (
	"encoding/binary"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/warming"
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
	for s := p.rules.OpenBlock(c); s <= c.HeadSeq; s++ {
		b = wire.AppendBytes(b, p.rules.Blobs.Get(c.Tail[s%history.BlockLen]))
	}
	return b
}

// appendPage encodes the members with ordinals [page*keys.PageLen, ...): the user id and the row of
// each.
func (p *Partition) appendPage(b []byte, c *state.Channel, page uint32) []byte {
	from, to := page*keys.PageLen, min((page+1)*keys.PageLen, c.Ords)
	warming.Page(&p.rules.State, c, from, to)
	for ord := from; ord < to; ord++ {
		r := p.rules.Rows.At(p.rules.MemberRow(c, ord))
		b = wire.AppendBytes(b, p.rules.UserID(r.User))
		b = records.AppendRow(b, r, p.rules.Whole(r), p.rules.ExtraOfPair(r))
	}
	return b
}

func (p *Partition) channelID(ci uint32) []byte { return p.rules.Blobs.Get(p.rules.Channels.At(ci).ID) }
