package traffic

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// Message returns an event of chat.messages with body, which is one of its kinds. Another body is a
// bug of the caller: Message panics.
func Message(channel string, body proto.Message) *eventsv1.MessageEvent {
	e := &eventsv1.MessageEvent{ChannelId: channel}
	setKind(e, body)
	return e
}

// Read returns an event of chat.reads with body, which is one of its kinds, as Message does.
func Read(channel, user string, body proto.Message) *eventsv1.ReadEvent {
	e := &eventsv1.ReadEvent{ChannelId: channel, UserId: user}
	setKind(e, body)
	return e
}

// Delivery returns an event of chat.deliveries with body, which is one of its kinds, as Message
// does.
func Delivery(channel, user string, body proto.Message) *eventsv1.DeliveryEvent {
	e := &eventsv1.DeliveryEvent{ChannelId: channel, UserId: user}
	setKind(e, body)
	return e
}

// setKind sets the field of the oneof kind that has the type of body.
func setKind(event, body proto.Message) {
	e, b := event.ProtoReflect(), body.ProtoReflect()
	kinds := e.Descriptor().Oneofs().ByName("kind").Fields()
	for i := range kinds.Len() {
		if k := kinds.Get(i); k.Message().FullName() == b.Descriptor().FullName() {
			e.Set(k, protoreflect.ValueOfMessage(b))
			return
		}
	}
	panic(fmt.Sprintf("%T is no kind of %T", body, event))
}

// ReadSeq and ReadID return the body of a read up to a message, by its seq or its id.
func ReadSeq(seq uint32) *eventsv1.ReadUpTo {
	return &eventsv1.ReadUpTo{Target: &eventsv1.ReadUpTo_Seq{Seq: seq}}
}

// ReadID is explained at ReadSeq.
func ReadID(id string) *eventsv1.ReadUpTo {
	return &eventsv1.ReadUpTo{Target: &eventsv1.ReadUpTo_MessageId{MessageId: id}}
}

// Record encodes an event of one of the inputs in Protobuf, keyed by its channel. topic names the
// topics of the inputs.
func Record(e proto.Message, topic func(events.Input) string) (*kgo.Record, error) {
	value, err := proto.Marshal(e)
	if err != nil {
		return nil, err
	}
	in, channel := destination(e)
	return &kgo.Record{Topic: topic(in), Key: []byte(channel), Value: value}, nil
}

// destination returns the input and the channel of an event.
func destination(e proto.Message) (events.Input, string) {
	switch e := e.(type) {
	case *eventsv1.MessageEvent:
		return events.Messages, e.ChannelId
	case *eventsv1.ReadEvent:
		return events.Reads, e.ChannelId
	case *eventsv1.DeliveryEvent:
		return events.Deliveries, e.ChannelId
	}
	panic(fmt.Sprintf("%T is no event of an input", e))
}
