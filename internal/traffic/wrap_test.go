package traffic

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// A body of any kind of the schema becomes the event of that kind. The record goes to the topic of
// the event, keyed by its channel.
func TestWrapEveryKind(t *testing.T) {
	for _, in := range []struct {
		event proto.Message
		topic string
		wrap  func(body proto.Message) proto.Message
	}{
		{&eventsv1.MessageEvent{}, events.TopicMessages, func(b proto.Message) proto.Message { return Message("c", b) }},
		{&eventsv1.ReadEvent{}, events.TopicReads, func(b proto.Message) proto.Message { return Read("c", "u", b) }},
		{&eventsv1.DeliveryEvent{}, events.TopicDeliveries, func(b proto.Message) proto.Message { return Delivery("c", "u", b) }},
	} {
		kinds := in.event.ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
		if kinds.Len() < 2 {
			t.Fatalf("%s has %d kinds", in.topic, kinds.Len())
		}
		for i := range kinds.Len() {
			f := kinds.Get(i)
			want := in.event.ProtoReflect().New()
			body := want.Mutable(f).Message().Interface()
			set(want, "channel_id", "c")
			set(want, "user_id", "u")
			got := in.wrap(body)
			if !proto.Equal(got, want.Interface()) {
				t.Errorf("%s wraps to %v, want %v", f.Name(), got, want.Interface())
			}
			r, err := Record(got, events.Input.String)
			if err != nil || r.Topic != in.topic || string(r.Key) != "c" {
				t.Errorf("%s: record to %q with key %q, %v", f.Name(), r.Topic, r.Key, err)
				continue
			}
			back := in.event.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(r.Value, back); err != nil || !proto.Equal(back, got) {
				t.Errorf("%s comes back as %v, %v", f.Name(), back, err)
			}
		}
	}
}

func set(m protoreflect.Message, field protoreflect.Name, v string) {
	if f := m.Descriptor().Fields().ByName(field); f != nil {
		m.Set(f, protoreflect.ValueOfString(v))
	}
}

// A body of another type is a bug in the caller.
func TestWrapRefusesOthers(t *testing.T) {
	for name, wrap := range map[string]func(){
		"message":  func() { Message("c", &eventsv1.ReadUpTo{}) },
		"read":     func() { Read("c", "u", &eventsv1.Queued{}) },
		"delivery": func() { Delivery("c", "u", &eventsv1.MessagePosted{}) },
		"record":   func() { _, _ = Record(&eventsv1.MessagePosted{}, events.Input.String) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			wrap()
		})
	}
}

func TestReadTargets(t *testing.T) {
	var d events.Decoder
	var r events.Read
	for _, body := range []*eventsv1.ReadUpTo{ReadSeq(7), ReadID("m7")} {
		rec, err := Record(Read("c", "u", body), events.Input.String)
		if err == nil {
			err = d.Read(rec.Value, 1, &r)
		}
		if err != nil || r.Kind != events.KindReadUpTo || string(r.UserID) != "u" {
			t.Errorf("%v is read as %+v, %v", body, r, err)
		}
		if body.GetSeq() == 7 && (r.Target != events.TargetSeq || r.Seq != 7) || body.GetMessageId() != "" && string(r.MessageID) != "m7" {
			t.Errorf("%v is read as %+v", body, r)
		}
	}
}
