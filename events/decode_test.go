package events_test

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

func TestUndecodable(t *testing.T) {
	good := mustMarshal(t, message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1"}))
	field := func(num protowire.Number, v string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), v)
	}
	cases := map[string]struct {
		value  []byte
		reason events.Reason
	}{
		"tombstone":             {nil, events.ReasonEmptyValue},
		"no bytes":              {[]byte{}, events.ReasonEmptyValue},
		"too large":             {bytes.Repeat(good, events.MaxValueBytes/len(good)+1), events.ReasonTooLarge},
		"too large JSON":        {append([]byte("{"), make([]byte, events.MaxValueBytes)...), events.ReasonTooLarge},
		"cut":                   {good[:len(good)-1], events.ReasonUndecodable},
		"text":                  {[]byte("hello"), events.ReasonUndecodable},
		"JSON array":            {[]byte(`[{"channel_id":"c"}]`), events.ReasonUndecodable},
		"field number 0":        {[]byte{0x02, 0x00}, events.ReasonUndecodable},
		"endless varint":        {bytes.Repeat([]byte{0xff}, 20), events.ReasonUndecodable},
		"length beyond end":     {[]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}, events.ReasonUndecodable},
		"length of 2^64-1":      {append([]byte{0x0a}, protowire.AppendVarint(nil, 1<<64-1)...), events.ReasonUndecodable},
		"open group":            {[]byte{0x0b, 0x08, 0x01}, events.ReasonUndecodable},
		"deep groups":           {bytes.Repeat([]byte{0x0b}, 1<<20), events.ReasonUndecodable},
		"not UTF-8":             {append(bytes.Clone(good), field(1, "c\xff")...), events.ReasonUndecodable},
		"surrogate":             {append(bytes.Clone(good), field(1, "c\xed\xa0\x80")...), events.ReasonUndecodable},
		"not UTF-8 and newer":   {append(bytes.Clone(good), append(field(1, "c\xff"), 0x48, 0x03)...), events.ReasonNewerVersion},
		"number 2^29 and newer": {[]byte{0x48, 0x03, 0x80, 0x80, 0x80, 0x80, 0x10, 0x00}, events.ReasonUndecodable},
		"cut and newer":         {append([]byte{0x48, 0x03}, good[:len(good)-1]...), events.ReasonUndecodable},
		"unknown kind":          {append(field(1, "c1"), field(24, "")...), events.ReasonNoKind},
		"unknown kind, newer":   {append([]byte{0x48, 0x03}, append(field(1, "c1"), field(24, "")...)...), events.ReasonNewerVersion},
		"unknown beside known":  {append(bytes.Clone(good), field(24, "x")...), ""},
		"version 1":             {append(bytes.Clone(good), 0x48, 0x01), ""},
	}
	var d events.Decoder
	var m events.Message
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := d.Message(c.value, record, &m)
			if events.ReasonOf(err) != c.reason || (err == nil) != (c.reason == "") {
				t.Errorf("got %v, want %q", err, c.reason)
			}
			if newer := c.reason == events.ReasonNewerVersion; errors.Is(err, events.ErrNewerVersion) != newer {
				t.Errorf("errors.Is(%v, ErrNewerVersion) is not %t", err, newer)
			}
		})
	}
}

// The hot path allocates nothing, whatever the kind.
func TestDecodeAllocations(t *testing.T) {
	var d events.Decoder
	var m events.Message
	var r events.Read
	var v events.Delivery
	check := func(name string, value []byte, decode func() error) {
		t.Helper()
		var err error
		if n := testing.AllocsPerRun(100, func() { err = decode() }); n != 0 || err != nil {
			t.Errorf("%s %q: %v allocations, error %v", name, value, n, err)
		}
	}
	for _, e := range sampleMessages() {
		value := mustMarshal(t, e)
		check("message", value, func() error { return d.Message(value, record, &m) })
	}
	for _, e := range sampleReads() {
		value := mustMarshal(t, e)
		check("read", value, func() error { return d.Read(value, record, &r) })
	}
	for _, e := range sampleDeliveries() {
		value := mustMarshal(t, e)
		check("delivery", value, func() error { return d.Delivery(value, record, &v) })
	}
}

// Appending to one decoded field must not overwrite the next.
func TestBorrowedCapacity(t *testing.T) {
	var d events.Decoder
	var r events.Read
	value := mustMarshal(t, benchRead())
	if err := d.Read(value, record, &r); err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{r.ChannelID, r.UserID, r.InstanceID, r.MessageID} {
		if cap(b) != len(b) {
			t.Errorf("%q has a capacity of %d", b, cap(b))
		}
	}
}
