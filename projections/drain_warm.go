package projections

import (
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// warmRows is how many rows or channels Drain warms at once.
const warmRows = 64

// warmDrain touches the memory of the rows that are drained next: first row to channel, user and
// ids, then their bytes.
func (p *Partition) warmDrain(rows []state.OutRow) {
	w := &p.rules.Warmth
	for i := range rows {
		r := p.rules.Rows.At(rows[i].Ref)
		w.Sum += uint64(r.Channel)
	}
	for i := range rows {
		r := p.rules.Rows.At(rows[i].Ref)
		c := p.rules.Channels.At(r.Channel)
		w.Sum += uint64(p.rules.RareOf(r).LastD) + uint64(c.ID) + uint64(c.Tail[c.Latest%history.BlockLen]) + uint64(c.LastM) + uint64(p.rules.Users.At(r.User).ShortLen)
	}
	for i := range rows {
		r := p.rules.Rows.At(rows[i].Ref)
		c := p.rules.Channels.At(r.Channel)
		w.Sum += uint64(p.rules.Blobs.First(c.ID)) + uint64(p.rules.Blobs.First(c.Tail[c.Latest%history.BlockLen])) +
			p.rules.PeekShown(r)
	}
}

// warmChannels touches the memory of the channel records that are drained next.
func (p *Partition) warmChannels(channels []uint32) {
	w := &p.rules.Warmth
	for _, ci := range channels {
		c := p.rules.Channels.At(ci)
		w.Sum += uint64(c.ID) + uint64(c.Tail[c.Latest%history.BlockLen]) + uint64(c.LastM)
	}
	for _, ci := range channels {
		c := p.rules.Channels.At(ci)
		w.Sum += uint64(p.rules.Blobs.First(c.ID)) + uint64(p.rules.Blobs.First(c.Tail[c.Latest%history.BlockLen]))
	}
}

// warmReceipts touches the memory of the channels' receipts that are drained next, of each channel's
// newest one also its user and its message.
func (p *Partition) warmReceipts(channels []uint32) {
	w := &p.rules.Warmth
	for _, ci := range channels {
		c := p.rules.Channels.At(ci)
		o := &p.rules.OutReceipts[c.NewestOutReceipt]
		w.Sum += uint64(c.ID) + uint64(c.Tail[o.Seq%history.BlockLen]) + uint64(p.rules.Users.At(o.User).Murmur)
	}
	for _, ci := range channels {
		c := p.rules.Channels.At(ci)
		o := &p.rules.OutReceipts[c.NewestOutReceipt]
		w.Sum += uint64(p.rules.Blobs.First(c.ID)) + uint64(p.rules.Blobs.First(c.Tail[o.Seq%history.BlockLen]))
	}
}
