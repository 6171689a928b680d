package gateway

import (
	"time"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/receipts"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/guard"
)

// receiptsOf holds the receipts of one kind in one channel until the next frame, of which there is
// one every ReceiptsEvery.
type receiptsOf struct {
	receipts.Waiting
	last  time.Time // when the last frame was sent
	timer bool      // a timer runs for the next frame
}

// applyReceipts applies a record of tidemark.receipts in a shard. Called with its lock.
func (g *Gateway) applyReceipts(h *hub, r *eventsv1.ReceiptsRecord) {
	ch := h.channels[r.ChannelId]
	if ch == nil {
		return
	}
	g.plant("receipts")
	g.addReceipts(ch, &ch.read, "receipt.read", r.Readers)
	g.addReceipts(ch, &ch.delivered, "receipt.delivered", r.Delivered)
	g.addReceipts(ch, &ch.viewed, "receipt.viewed", r.Viewed)
}

// addReceipts adds receipts to the waiting ones, and sends them when they are due.
func (g *Gateway) addReceipts(ch *channel, to *receiptsOf, kind string, list []*eventsv1.Receipt) {
	if len(list) == 0 {
		return
	}
	to.Add(list, to == &ch.viewed)
	g.dueReceipts(ch, to, kind)
}

// dueReceipts sends the waiting receipts if ReceiptsEvery has passed since the last frame, else
// once it has. Called with the lock.
func (g *Gateway) dueReceipts(ch *channel, to *receiptsOf, kind string) {
	wait := g.cfg.ReceiptsEvery - g.cfg.Now().Sub(to.last)
	if wait <= 0 {
		g.frameReceipts(ch, to, kind)
		return
	}
	if to.timer {
		return
	}
	to.timer = true
	guard.AfterFunc(wait, "the sending of receipts", g.panicked("receipts are not sent"), func() {
		defer ch.hub.kick()
		ch.hub.mu.With(func() {
			to.timer = false
			if to.Len() > 0 {
				g.dueReceipts(ch, to, kind) // a late timer may fire just after a frame
			}
		})
	})
}

// frameReceipts sends the waiting receipts to the present members.
func (g *Gateway) frameReceipts(ch *channel, to *receiptsOf, kind string) {
	to.last = g.cfg.Now()
	f := to.Frame(kind, ch.id)
	for u, e := range ch.members {
		if e.since != unconfirmed {
			u.broadcast(wire.Item{Channel: ch.id, Frame: f}, nil, nil)
		}
	}
}
