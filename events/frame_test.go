package events_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

// frameHead returns the frame of a schema registry's serializer: a magic byte and the schema's id.
func frameHead(schema uint32) []byte { return binary.BigEndian.AppendUint32([]byte{0}, schema) }

// frames returns an event in all forms of serializers: JSON, and Protobuf as the first message of
// its file (in the short and the long form), as a later message, and as a nested one.
func frames(encoded, text []byte) [][]byte {
	var list [][]byte
	for _, indexes := range [][]int64{nil, {0}, {7}, {1, 0, 300}} {
		b := binary.AppendVarint(frameHead(1), int64(len(indexes)))
		for _, i := range indexes {
			b = binary.AppendVarint(b, i)
		}
		list = append(list, append(b, encoded...))
	}
	if text != nil {
		list = append(list, append(frameHead(1<<31+7), text...))
	}
	return list
}

// A framed event decodes to the event, in all three topics and in all forms.
func TestFramedValues(t *testing.T) {
	var d events.Decoder
	check := func(list []proto.Message, decode func([]byte) any) {
		t.Helper()
		for _, e := range list {
			encoded := mustMarshal(t, e)
			text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			want := decode(encoded)
			for _, framed := range frames(encoded, text) {
				equal(t, decode(framed), want)
			}
		}
	}
	check(sampleMessages(), func(b []byte) any {
		var m events.Message
		if err := d.Message(b, record, &m); err != nil {
			t.Errorf("%q: %v", b, err)
		}
		return m
	})
	check(sampleReads(), func(b []byte) any {
		var r events.Read
		if err := d.Read(b, record, &r); err != nil {
			t.Errorf("%q: %v", b, err)
		}
		return r
	})
	check(sampleDeliveries(), func(b []byte) any {
		var v events.Delivery
		if err := d.Delivery(b, record, &v); err != nil {
			t.Errorf("%q: %v", b, err)
		}
		return v
	})
}

// A framed value that is not an event is undecodable or needs a newer build, as without the frame.
func TestFramesThatAreNone(t *testing.T) {
	good := mustMarshal(t, message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1"}))
	in := func(b ...byte) []byte { return append(frameHead(9), b...) }
	cases := map[string]struct {
		value  []byte
		reason events.Reason
	}{
		"zero byte alone":       {[]byte{0}, events.ReasonUndecodable},
		"no id":                 {append([]byte{0}, good...), events.ReasonUndecodable},
		"nothing in it":         {in(), events.ReasonUndecodable},
		"no indexes":            {append(in(), good...), events.ReasonUndecodable},
		"empty message":         {in(0), events.ReasonNoKind},
		"negative count":        {append(in(1), good...), events.ReasonUndecodable},
		"negative index":        {append(in(2, 1), good...), events.ReasonUndecodable},
		"too many indexes":      {in(slices.Concat([]byte{66}, make([]byte, 33), good)...), events.ReasonUndecodable},
		"indexes end early":     {in(8, 2), events.ReasonUndecodable},
		"endless varint":        {in(bytes.Repeat([]byte{0xff}, 20)...), events.ReasonUndecodable},
		"a frame in a frame":    {append(in(0), append(frameHead(9), append([]byte{0}, good...)...)...), events.ReasonUndecodable},
		"JSON behind indexes":   {append(in(0), `{"channel_id":"c1","channel_deleted":{}}`...), events.ReasonUndecodable},
		"JSON in it, bad":       {append(in(), `{"channel_id":7}`...), events.ReasonUndecodable},
		"JSON array":            {append(in(), `[1]`...), events.ReasonUndecodable},
		"Avro":                  {in(0x04, 'c', '1', 0x02, 0x00), events.ReasonUndecodable},
		"cut":                   {append(in(0), good[:len(good)-1]...), events.ReasonUndecodable},
		"newer":                 {append(in(0), append(bytes.Clone(good), 0x48, 0x7f)...), events.ReasonNewerVersion},
		"newer, of other shape": {append(in(2, 0), 0x48, 0x7f, 0x0a, 0x01, 0xff), events.ReasonNewerVersion},
		"newer JSON":            {append(in(), `{"channel_id":[1],"min_version":127}`...), events.ReasonNewerVersion},
	}
	var d events.Decoder
	var m events.Message
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := d.Message(c.value, record, &m)
			if got := events.ReasonOf(err); got != c.reason {
				t.Errorf("got %v, want %q", err, c.reason)
			}
		})
	}
	err := d.Message(cases["JSON in it, bad"].value, record, &m)
	if err == nil || !strings.Contains(err.Error(), "channel_id: is a number, must be a string") || !strings.Contains(err.Error(), "frame of schema 9") {
		t.Errorf("%v: want it to name the field and the schema", err)
	}
}

// No Protobuf event begins like a frame, with field number 0.
func TestNoEventBeginsAsAFrame(t *testing.T) {
	for _, e := range slices.Concat(sampleMessages(), sampleReads(), sampleDeliveries()) {
		if b := mustMarshal(t, e); len(b) > 0 && (b[0] == 0 || b[0] == '{') {
			t.Errorf("%q", b)
		}
	}
}

func TestFramedAllocations(t *testing.T) {
	var d events.Decoder
	var m events.Message
	value := frames(mustMarshal(t, sampleMessages()[0]), nil)[1]
	if n := testing.AllocsPerRun(100, func() {
		if err := d.Message(value, record, &m); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
