package events_test

import (
	"testing"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

func TestDeliveryFields(t *testing.T) {
	want := []events.Delivery{
		{Kind: events.KindDelivered, MessageID: []byte("m1"), DeviceID: []byte("d1")},
		{Kind: events.KindDelivered, UpToID: []byte("m1")},
		{Kind: events.KindQueued, MessageID: []byte("m1")},
	}
	samples := sampleDeliveries()
	if len(samples) != len(want) {
		t.Fatalf("%d samples, %d expectations", len(samples), len(want))
	}
	var d events.Decoder
	var v events.Delivery
	for i, sample := range samples {
		w := want[i]
		w.ChannelID, w.UserID, w.OccurredAt = []byte("c1"), []byte("u1"), record-1000
		if err := d.Delivery(mustMarshal(t, sample), record, &v); err != nil {
			t.Fatal(err)
		}
		equal(t, v, w)
	}
}

func TestDeliveryRefused(t *testing.T) {
	mutated := func(fn func(*pb.DeliveryEvent)) *pb.DeliveryEvent {
		e := delivery(&pb.Queued{MessageId: "m1"})
		fn(e)
		return e
	}
	bad := map[string]badEvent{
		"no kind":    {delivery(nil), events.ReasonNoKind, ""},
		"no channel": {mutated(func(e *pb.DeliveryEvent) { e.ChannelId = "" }), events.ReasonInvalidID, "channel_id"},
		"no user":    {mutated(func(e *pb.DeliveryEvent) { e.UserId = "" }), events.ReasonInvalidID, "user_id"},
		"newer":      {mutated(func(e *pb.DeliveryEvent) { e.MinVersion = 1 << 31 }), events.ReasonNewerVersion, "min_version"},
		"no target":  {delivery(&pb.Delivered{DeviceId: "d"}), events.ReasonNoTarget, "delivered"},
		"empty id": {delivery(&pb.Delivered{Target: &pb.Delivered_MessageId{}}),
			events.ReasonInvalidID, "delivered.message_id"},
		"empty up to": {delivery(&pb.Delivered{Target: &pb.Delivered_UpToMessageId{}}),
			events.ReasonInvalidID, "delivered.up_to_message_id"},
		"bad device": {delivery(&pb.Delivered{Target: &pb.Delivered_MessageId{MessageId: "m"}, DeviceId: "\x00"}),
			events.ReasonInvalidID, "delivered.device_id"},
		"queued nothing": {delivery(&pb.Queued{}), events.ReasonInvalidID, "queued.message_id"},
	}
	var d events.Decoder
	var v events.Delivery
	for name, want := range bad {
		t.Run(name, func(t *testing.T) {
			value := mustMarshal(t, want.event)
			checkBad(t, value, d.Delivery(value, record, &v), want)
		})
	}
}
