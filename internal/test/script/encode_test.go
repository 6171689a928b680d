package script_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
)

// nearer moves a time target that is far ahead of its record, which a decoder would replace.
func nearer(r *script.Record) {
	if r.Message != nil && r.Message.Target == events.TargetTime {
		m := *r.Message
		m.TargetTime = min(m.TargetTime, r.Timestamp)
		r.Message = &m
	}
	if r.Read != nil && r.Read.Target == events.TargetTime {
		read := *r.Read
		read.TargetTime = min(read.TargetTime, r.Timestamp)
		r.Read = &read
	}
}

// TestValue: a decoder decodes a record's value to the record's event.
func TestValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := random.Draw(t)
		for _, records := range c.Log {
			for _, r := range records {
				nearer(&r)
				value, err := r.Value()
				if err != nil {
					t.Fatal(err)
				}
				var d events.Decoder
				back := script.Record{Input: r.Input, Offset: r.Offset, Timestamp: r.Timestamp}
				switch r.Input {
				case events.Messages:
					back.Message = &events.Message{}
					err = d.Message(value, r.Timestamp, back.Message)
				case events.Reads:
					back.Read = &events.Read{}
					err = d.Read(value, r.Timestamp, back.Read)
				default:
					back.Delivery = &events.Delivery{}
					err = d.Delivery(value, r.Timestamp, back.Delivery)
				}
				if err != nil {
					t.Fatalf("%s: %v", script.Format(&r), err)
				}
				if got, want := script.Format(&back), script.Format(&r); got != want || string(back.Key()) != string(r.Key()) {
					t.Fatalf("%s\nwas read back as\n%s", want, got)
				}
			}
		}
	})
}
