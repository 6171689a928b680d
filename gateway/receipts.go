package gateway

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// receipts are those of one kind in one channel that wait for their turn: one frame every ReceiptsEvery.
type receipts struct {
	waiting map[string]*eventsv1.Receipt // by user, the furthest
	last    time.Time                    // when a frame was sent
	timer   bool                         // one is set
}

// maxReceipts bounds how many users wait in one channel; only small channels have receipts.
const maxReceipts = 1000

// applyReceipts takes a record of tidemark.receipts. Called with the lock.
func (g *Gateway) applyReceipts(r *eventsv1.ReceiptsRecord) {
	ch := g.hub.channels[r.ChannelId]
	if ch == nil {
		return
	}
	g.addReceipts(ch, &ch.read, "receipt.read", r.Readers)
	g.addReceipts(ch, &ch.delivered, "receipt.delivered", r.Delivered)
}

// addReceipts joins receipts with those that wait, and sends them at once if that is allowed, else in time.
func (g *Gateway) addReceipts(ch *channel, to *receipts, kind string, list []*eventsv1.Receipt) {
	if len(list) == 0 {
		return
	}
	if to.waiting == nil {
		to.waiting = map[string]*eventsv1.Receipt{}
	}
	for _, r := range list {
		if old := to.waiting[r.UserId]; (old == nil && len(to.waiting) < maxReceipts) || (old != nil && r.Seq >= old.Seq) {
			to.waiting[r.UserId] = r
		}
	}
	g.dueReceipts(ch, to, kind)
}

// dueReceipts sends what waits if that is allowed, else once it is. Called with the lock.
func (g *Gateway) dueReceipts(ch *channel, to *receipts, kind string) {
	wait := g.cfg.ReceiptsEvery - g.cfg.Now().Sub(to.last)
	if wait <= 0 {
		g.frameReceipts(ch, to, kind)
		return
	}
	if to.timer {
		return
	}
	to.timer = true
	time.AfterFunc(wait, func() {
		g.hub.mu.Lock()
		to.timer = false
		if len(to.waiting) > 0 {
			g.dueReceipts(ch, to, kind) // a late timer may come just behind a frame
		}
		g.hub.mu.Unlock()
		g.hub.kick()
	})
}

// frameReceipts sends what waits to those who are members now.
func (g *Gateway) frameReceipts(ch *channel, to *receipts, kind string) {
	list := make([]*eventsv1.Receipt, 0, len(to.waiting))
	for _, r := range to.waiting {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *eventsv1.Receipt) int { return strings.Compare(a.UserId, b.UserId) })
	to.waiting, to.last = nil, g.cfg.Now()
	b := text(begin(make([]byte, 0, 64+120*len(list)), kind), "channel_id", ch.id)
	b = append(appendReaders(b, list), '}')
	for u, e := range ch.members {
		if e.since != unsure {
			g.hub.broadcast(u, item{channel: ch.id, body: b})
		}
	}
}

// reader is a line of a list of readers; Receipt of the events and Reader of the queries are.
type reader interface {
	GetUserId() string
	GetMessageId() string
	GetSeq() uint32
	GetAt() *timestamppb.Timestamp
}

// appendReaders writes a list of readers. Who has read nothing has no message, and no time.
func appendReaders[R reader](b []byte, list []R) []byte {
	b = append(key(b, "readers"), '[')
	for i, r := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = text(append(b, '{'), "user_id", r.GetUserId())
		b = textIf(b, "message_id", r.GetMessageId())
		b = number(b, "seq", uint64(r.GetSeq()))
		if at := r.GetAt(); at != nil {
			b = instant(b, "at", at.AsTime().UnixMilli())
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
