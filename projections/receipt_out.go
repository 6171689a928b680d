package projections

import (
	"bytes"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/warming"
)

// receiptsBytes is the approximate limit for the size of one record of receipts. drainReceiptsOf
// starts another record beyond it, because a backlog of deliveries can make more than a topic
// accepts in one record, which would stop the partition. Unlike deltas, receipts of one key do not
// replace each other.
const receiptsBytes = 128 << 10

// drainReceipts emits a record for each channel with new receipts: the furthest read of each user,
// and every delivered message.
func (p *Partition) drainReceipts(d *Deltas, t *turn) {
	groups, from := p.rules.OutReceiptChannels, uint32(0)
	p.outDue = p.rules.GatherDue(p.outDue, t.spend)
	for i, g := range groups {
		c := p.rules.Channels.At(g.Channel)
		if c.OutReceipts = 0; d != nil {
			warming.Receipts(&p.rules.State, warming.Due(groups, i), p.outDue, from)
			p.drainReceiptsOf(d, c, p.outDue[from:g.End], t)
			from = g.End
			t.spend(1)
		}
	}
	p.rules.OutReceiptChannels, p.rules.OutReceipts, p.rules.OutErased = groups[:0], p.rules.OutReceipts[:0], nil
}

func (p *Partition) drainReceiptsOf(d *Deltas, c *state.Channel, list []receipts.Due, t *turn) {
	m := &p.outRecord
	*m = events.ReceiptsRecord{ChannelID: p.rules.Blobs.Get(c.ID), Readers: m.Readers[:0], Delivered: m.Delivered[:0], Viewed: m.Viewed[:0]}
	size := 0
	if c.Flags&state.ChannelDeleted != 0 || len(list) == 0 { // empty if all receipts belonged to users who are erased now
		return
	}
	for _, o := range p.outCondense.Condense(list, p.compareIDs) {
		t.spend(1)
		r := events.Receipt{UserID: p.rules.UserID(o.User), Seq: o.Seq, At: o.At, MessageID: p.rules.IDInDeltas(c, o.Seq, &p.outFanOut)}
		switch o.Kind {
		case receipts.OutRead, receipts.OutWithThreads:
			r.WithThreads = o.Kind == receipts.OutWithThreads
			m.Readers = append(m.Readers, r)
		case receipts.OutDelivered:
			m.Delivered = append(m.Delivered, r)
		default:
			m.Viewed = append(m.Viewed, r)
		}
		const numbers = 32 // the seq, the time, and the tags and lengths of the fields
		if size += len(r.UserID) + len(r.MessageID) + numbers; size >= receiptsBytes {
			p.keepReceipts(d, m)
			m.Readers, m.Delivered, m.Viewed, size = m.Readers[:0], m.Delivered[:0], m.Viewed[:0], 0
		}
	}
	if size > 0 {
		p.keepReceipts(d, m)
	}
}

func (p *Partition) compareIDs(a, b uint32) int {
	return bytes.Compare(p.rules.UserID(a), p.rules.UserID(b))
}

// keepReceipts appends a record of receipts.
func (p *Partition) keepReceipts(d *Deltas, m *events.ReceiptsRecord) {
	p.outBuf = events.AppendReceiptsRecord(p.outBuf[:0], m)
	val := d.Keep(p.outBuf)
	key := d.Keep(m.ChannelID)
	d.Records = append(d.Records, OutRecord{Topic: OutReceipts, Partition: p.id.Partition, Key: key, Value: val, ChannelID: key})
}
