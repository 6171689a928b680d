package events_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
)

// Both spellings of JSON decode to what Protobuf decodes to.
func TestJSONEqualsProtobuf(t *testing.T) {
	var d events.Decoder
	for _, o := range []protojson.MarshalOptions{{UseProtoNames: true}, {}, {Multiline: true, EmitUnpopulated: true}} {
		for _, e := range sampleMessages() {
			var m, j events.Message
			decodeBoth(t, o, e, func(b []byte) error { return d.Message(b, record, &m) }, func(b []byte) error { return d.Message(b, record, &j) })
			equal(t, j, m)
		}
		for _, e := range sampleReads() {
			var m, j events.Read
			decodeBoth(t, o, e, func(b []byte) error { return d.Read(b, record, &m) }, func(b []byte) error { return d.Read(b, record, &j) })
			equal(t, j, m)
		}
		for _, e := range sampleDeliveries() {
			var m, j events.Delivery
			decodeBoth(t, o, e, func(b []byte) error { return d.Delivery(b, record, &m) }, func(b []byte) error { return d.Delivery(b, record, &j) })
			equal(t, j, m)
		}
	}
}

func decodeBoth(t *testing.T, o protojson.MarshalOptions, e proto.Message, binary, text func([]byte) error) {
	t.Helper()
	if err := binary(mustMarshal(t, e)); err != nil {
		t.Fatal(err)
	}
	j, err := o.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := text(j); err != nil {
		t.Fatalf("%s: %v", j, err)
	}
}

func TestJSON(t *testing.T) {
	const posted = `"channel_id":"c1","message_posted":{"message_id":"m1","sender_id":"u1"}`
	cases := map[string]struct {
		value  string
		reason events.Reason
	}{
		"minimal":              {`{` + posted + `}`, ""},
		"unknown fields":       {`{` + posted + `,"new":{"a":[1,{"b":null}]}}`, ""},
		"null time":            {`{` + posted + `,"occurred_at":null}`, ""},
		"empty object":         {`{}`, events.ReasonNoKind},
		"no channel":           {`{"message_posted":{"message_id":"m1","sender_id":"u1"}}`, events.ReasonInvalidID},
		"two kinds":            {`{` + posted + `,"channel_deleted":{}}`, events.ReasonUndecodable},
		"cut":                  {`{` + posted, events.ReasonUndecodable},
		"trailing":             {`{` + posted + `}{}`, events.ReasonUndecodable},
		"not UTF-8":            {"{\"channel_id\":\"\xff\"}", events.ReasonUndecodable},
		"lone surrogate":       {`{"channel_id":"\ud800"}`, events.ReasonUndecodable},
		"bad time":             {`{` + posted + `,"occurred_at":"yesterday"}`, events.ReasonUndecodable},
		"year 1":               {`{` + posted + `,"occurred_at":"0001-01-01T00:00:00Z"}`, events.ReasonInvalidTime},
		"newer":                {`{` + posted + `,"min_version":3}`, events.ReasonNewerVersion},
		"newer, other shape":   {`{"channel_id":["c1"],"minVersion":"3"}`, events.ReasonNewerVersion},
		"newer, but no JSON":   {`{"min_version":3,`, events.ReasonUndecodable},
		"version 1, bad shape": {`{"channel_id":["c1"],"min_version":1}`, events.ReasonUndecodable},
		"deep":                 {`{"x":` + strings.Repeat(`[`, 1<<20), events.ReasonUndecodable},
		"deep objects":         {`{"x":` + strings.Repeat(`{"x":`, 1<<18) + `1` + strings.Repeat(`}`, 1<<18) + `}`, events.ReasonUndecodable},
	}
	var d events.Decoder
	var m events.Message
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := d.Message([]byte(c.value), record, &m)
			if events.ReasonOf(err) != c.reason || (err == nil) != (c.reason == "") {
				t.Errorf("got %v, want %q", err, c.reason)
			}
		})
	}
}

// An event that was decoded from JSON does not share memory with the next one.
func TestJSONKeepsItsBytes(t *testing.T) {
	var d events.Decoder
	var a, b events.Message
	if err := d.Message([]byte(`{"channel_id":"first","channel_deleted":{}}`), record, &a); err != nil {
		t.Fatal(err)
	}
	if err := d.Message([]byte(`{"channel_id":"other","channel_deleted":{}}`), record, &b); err != nil {
		t.Fatal(err)
	}
	if string(a.ChannelID) != "first" || string(b.ChannelID) != "other" {
		t.Errorf("got %q and %q", a.ChannelID, b.ChannelID)
	}
}
