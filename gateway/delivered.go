package gateway

import (
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// deliveredEvery is the least time between two reports of what was delivered. A report covers what came before it in its
// channel, so while messages come fast one in that time is enough for each reader of each; the first goes out at once.
const deliveredEvery = 100 * time.Millisecond

// deliveries are what connections have taken and nobody was told of: of each reader the newest message, since that
// covers those before it.
type deliveries struct {
	g *Gateway

	mu      sync.Mutex
	waiting map[*entry]delivery
	last    time.Time // when they were reported
	timer   bool      // a report is on its way
	ended   bool
}

// delivery is a message that was sent to a device.
type delivery struct {
	message  *posted
	instance string
}

// taken notes what a connection has taken.
func (d *deliveries) taken(c *conn, batch []item) {
	var last *entry // frames of one channel tend to follow each other
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := len(batch) - 1; i >= 0; i-- {
		it := &batch[i]
		if it.message == nil || it.reader == last {
			continue
		}
		last = it.reader
		if old := d.waiting[last]; old.message == nil || old.message.seq < it.message.seq {
			if d.waiting == nil {
				d.waiting = map[*entry]delivery{}
			}
			d.waiting[last] = delivery{it.message, c.instance}
		}
	}
	if last == nil || d.timer || d.ended {
		return
	}
	d.timer = true
	time.AfterFunc(max(0, deliveredEvery-time.Since(d.last)), d.report)
}

// end reports what is left; nothing is reported after it.
func (d *deliveries) end() {
	d.report()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended, d.waiting = true, nil
}

// report writes a Delivered for each reader. A user's second device reports nothing anew.
func (d *deliveries) report() {
	d.mu.Lock()
	if d.ended {
		d.mu.Unlock()
		return
	}
	waiting := d.waiting
	d.waiting, d.last, d.timer = nil, time.Now(), false
	d.mu.Unlock()

	g := d.g
	now := timestamppb.New(g.cfg.Now())
	events := make([]*eventsv1.DeliveryEvent, 0, len(waiting))
	g.hub.mu.Lock()
	for e, was := range waiting {
		if e.ch == nil || was.message.seq <= e.delivered {
			continue
		}
		e.delivered = was.message.seq
		events = append(events, &eventsv1.DeliveryEvent{
			ChannelId: e.view.channel, UserId: e.user.id, OccurredAt: now,
			Kind: &eventsv1.DeliveryEvent_Delivered{Delivered: &eventsv1.Delivered{
				Target: &eventsv1.Delivered_UpToMessageId{UpToMessageId: was.message.id}, DeviceId: was.instance,
			}},
		})
	}
	g.hub.mu.Unlock()
	for _, e := range events {
		g.metrics.delivered.Inc()
		g.produce(g.cfg.Topics.Deliveries, e.ChannelId, e, func(string, int64, error) {}) // what is lost is reported by the next
	}
}
