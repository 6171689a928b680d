package gateway

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// delivery is a message that a frame brings to a user, to be reported once the frame was written.
type delivery struct {
	user, channel, message string
	seq                    uint32
}

// written reports as delivered what a connection has taken: per channel the newest of it, since that covers those before
// it. A user's second device reports nothing anew.
func (g *Gateway) written(c *conn, batch []item) {
	var newest map[string]*delivery
	for i := range batch {
		d := batch[i].delivered
		if d == nil {
			continue
		}
		if newest == nil {
			newest = map[string]*delivery{}
		}
		if n := newest[d.channel]; n == nil || n.seq < d.seq {
			newest[d.channel] = d
		}
	}
	if newest == nil {
		return
	}
	g.hub.mu.Lock()
	defer g.hub.mu.Unlock()
	for id, d := range newest {
		e := c.user.entries[id]
		if e == nil || e.ch == nil || d.seq <= e.delivered {
			continue
		}
		e.delivered = d.seq
		g.metrics.delivered.Inc()
		g.produce(g.cfg.Topics.Deliveries, id, &eventsv1.DeliveryEvent{
			ChannelId: id, UserId: d.user, OccurredAt: timestamppb.New(g.cfg.Now()),
			Kind: &eventsv1.DeliveryEvent_Delivered{Delivered: &eventsv1.Delivered{
				Target: &eventsv1.Delivered_UpToMessageId{UpToMessageId: d.message}, DeviceId: c.instance,
			}},
		}, func(string, int64, error) {}) // a receipt that is lost is reported by the next
	}
}
