package projections

import (
	"cmp"
	"slices"

	"github.com/tidemark/tidemark/events"
)

// outReceipt is a receipt to publish on tidemark.receipts (DESIGN §7).
type outReceipt struct {
	next      uint32 // the channel's receipt before it, 0 = none
	user, seq uint32
	kind      uint8
	at        int64
}

const (
	outRead = iota
	outDelivered
)

// emitReceipt notes a receipt, where the message is small and the user can be its recipient.
func (p *Partition) emitReceipt(ref uint32, c *channel, r *row, kind uint8, seq uint32, at int64) {
	if p.quiet {
		return
	}
	pair := p.pairOf(r)
	from, ever := p.firstMember(pair)
	if !ever || from >= seq || !p.isSmall(c, seq) {
		return
	}
	if r.flags&rowThread != 0 { // a thread's pointer may stand on any message of the channel, which it does not read
		e := p.entryAt(c, seq)
		if x := indexedOf(&e); !p.inScope(c, r, x) {
			return
		}
	}
	if c.receipts == 0 {
		p.outReceiptChans = append(p.outReceiptChans, r.ch)
	}
	p.outReceipts = append(p.outReceipts, outReceipt{c.receipts, r.user, seq, kind, at})
	c.receipts = uint32(len(p.outReceipts) - 1)
}

// untellReceipts drops what was noted of a user in a channel and not emitted yet.
func (p *Partition) untellReceipts(c *channel, user uint32) {
	at := &c.receipts
	for i := *at; i != 0; i = p.outReceipts[i].next {
		if p.outReceipts[i].user == user {
			*at = p.outReceipts[i].next
		} else {
			at = &p.outReceipts[i].next
		}
	}
}

// receiptsBytes is about how large a record of receipts gets. What a batch has of one channel beyond that goes into further
// records: a backlog of deliveries can make more than a topic takes in one, and then the partition could not go on. Unlike
// deltas, receipts of one key do not replace each other.
const receiptsBytes = 128 << 10

// drainReceipts emits a record for each channel with receipts: of each user the furthest that he read, and every
// message that was delivered to him.
func (p *Partition) drainReceipts(d *Deltas) {
	for _, ci := range p.outReceiptChans {
		c := p.chans.at(ci)
		if d == nil {
			c.receipts = 0
			continue
		}
		list := p.outMerging[:0]
		for i := c.receipts; i != 0; i = p.outReceipts[i].next {
			list = append(list, p.outReceipts[i])
		}
		c.receipts = 0
		p.outMerging = list
		p.drainReceiptsOf(d, c, list)
	}
	p.outReceiptChans, p.outReceipts = p.outReceiptChans[:0], p.outReceipts[:1]
}

func (p *Partition) drainReceiptsOf(d *Deltas, c *channel, list []outReceipt) {
	m := &p.outRecord
	*m = events.ReceiptsRecord{ChannelID: p.blobs.get(c.id), Readers: m.Readers[:0], Delivered: m.Delivered[:0]}
	size := 0
	if c.flags&chDeleted != 0 || len(list) == 0 { // empty where all of it was of users who are erased now
		return
	}
	slices.SortFunc(list, func(a, b outReceipt) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.user, b.user), cmp.Compare(a.seq, b.seq), cmp.Compare(b.at, a.at))
	})
	for i, o := range list {
		if i+1 < len(list) {
			if n := &list[i+1]; n.kind == o.kind && n.user == o.user && (o.kind == outRead || n.seq == o.seq) {
				continue // the next says more: further, or earlier
			}
		}
		e := p.entryAt(c, o.seq)
		r := events.Receipt{UserID: p.userID(o.user), Seq: o.seq, At: o.at}
		if c.tells(&e, p.settings.IndexRetention) {
			r.MessageID = e.id
		}
		if o.kind == outRead {
			m.Readers = append(m.Readers, r)
		} else {
			m.Delivered = append(m.Delivered, r)
		}
		const numbers = 32 // the seq, the time, and what is before each field
		if size += len(r.UserID) + len(r.MessageID) + numbers; size >= receiptsBytes {
			p.keepReceipts(d, m)
			m.Readers, m.Delivered, size = m.Readers[:0], m.Delivered[:0], 0
		}
	}
	if size > 0 {
		p.keepReceipts(d, m)
	}
}

// keepReceipts appends a record of receipts.
func (p *Partition) keepReceipts(d *Deltas, m *events.ReceiptsRecord) {
	p.outBuf = events.AppendReceiptsRecord(p.outBuf[:0], m)
	val := d.keep(p.outBuf)
	key := d.keep(m.ChannelID)
	d.Records = append(d.Records, OutRecord{Topic: OutReceipts, Partition: p.id.Partition, Key: key, Value: val, ChannelID: key})
}
