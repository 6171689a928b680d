package gateway

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/sequence"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/guard"
)

// deliveredEvery is the least time between two reports of deliveries. A report covers earlier
// messages of the channel too, so one report in that time is enough for each reader of each
// channel. The first is sent at once.
const deliveredEvery = 100 * time.Millisecond

// deliveries are messages that connections have taken and that are not reported yet: the newest one
// of each reader, which covers earlier ones.
type deliveries struct {
	g *Gateway

	mu      sync.Mutex
	waiting map[*entry]delivery
	last    time.Time // time of the last report
	timer   bool      // a report is scheduled
	ended   bool
}

// delivery is a message that was sent to a device.
type delivery struct {
	message  *sequence.Message
	instance string
}

// taken records which messages a connection has taken.
func (d *deliveries) taken(instance string, batch []wire.Item) {
	if d.g.cfg.Trace != nil {
		wire.Sent(batch)
	}
	var last *entry // frames of one channel often follow each other
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := len(batch) - 1; i >= 0; i-- {
		it := &batch[i]
		if it.Message == nil || it.Reader == last {
			continue
		}
		message := it.Message.(*sequence.Message)
		last = it.Reader.(*entry)
		if old := d.waiting[last]; old.message == nil || old.message.Seq < message.Seq {
			if d.waiting == nil {
				d.waiting = map[*entry]delivery{}
			}
			d.waiting[last] = delivery{message, instance}
		}
	}
	if last == nil || d.timer || d.ended {
		return
	}
	d.timer = true
	guard.AfterFunc(max(0, deliveredEvery-time.Since(d.last)), "reporting deliveries", d.g.panicked("deliveries are not reported"), d.report)
}

// end reports the rest; later deliveries are not reported.
func (d *deliveries) end() {
	d.report()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended, d.waiting = true, nil
}

// report writes a Delivered for each reader, except for messages that another device of the user
// has already reported.
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
	for e, was := range waiting {
		channelID, news := e.deliver(was.message.Seq)
		if !news {
			continue
		}
		events = append(events, &eventsv1.DeliveryEvent{
			ChannelId: channelID, UserId: e.user.id, OccurredAt: now,
			Kind: &eventsv1.DeliveryEvent_Delivered{Delivered: &eventsv1.Delivered{
				Target: &eventsv1.Delivered_UpToMessageId{UpToMessageId: was.message.ID}, DeviceId: was.instance,
			}},
		})
	}
	for _, e := range events {
		g.metrics.delivered.Inc()
		g.produce(context.Background(), g.cfg.Topics.Deliveries, e.ChannelId, e, func(string, int64, error) {}) // the next report covers a lost one
	}
}

// deliver marks a message as reported. It returns the message's channel, and whether it was not
// reported before.
func (e *entry) deliver(seq uint32) (channelID string, news bool) {
	h := e.user.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.ch == nil || seq <= e.delivered {
		return "", false
	}
	e.delivered = seq
	return e.view.Channel, true
}
