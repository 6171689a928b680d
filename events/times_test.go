package events_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

func TestOccurredAt(t *testing.T) {
	const fiveMinutes = 5 * 60 * 1000
	cases := map[string]struct {
		at       *timestamppb.Timestamp
		record   int64
		want     int64
		replaced bool
		reason   events.Reason
	}{
		"missing":               {nil, record, record, false, ""},
		"missing, no timestamp": {nil, -1, 0, false, ""},
		"past":                  {at(-1), record, record - 1, false, ""},
		"long past":             {&timestamppb.Timestamp{}, record, 0, false, ""},
		"truncated":             {&timestamppb.Timestamp{Seconds: 1, Nanos: 999_999_999}, record, 1999, false, ""},
		"five minutes ahead":    {at(fiveMinutes), record, record + fiveMinutes, false, ""},
		"a little more":         {at(fiveMinutes + 1), record, record, true, ""},
		"year 9999":             {&timestamppb.Timestamp{Seconds: 253402300799, Nanos: 999_999_999}, record, record, true, ""},
		"ahead of no timestamp": {at(0), -1, 0, true, ""},
		"year 10000":            {&timestamppb.Timestamp{Seconds: 253402300800}, record, 0, false, events.ReasonInvalidTime},
		"1969":                  {&timestamppb.Timestamp{Seconds: -1}, record, 0, false, events.ReasonInvalidTime},
		"the zero time of Go":   {&timestamppb.Timestamp{Seconds: -62135596800}, record, 0, false, events.ReasonInvalidTime},
		"smallest":              {&timestamppb.Timestamp{Seconds: -1 << 63, Nanos: -1 << 31}, record, 0, false, events.ReasonInvalidTime},
		"largest":               {&timestamppb.Timestamp{Seconds: 1<<63 - 1, Nanos: 1<<31 - 1}, record, 0, false, events.ReasonInvalidTime},
		"negative nanoseconds":  {&timestamppb.Timestamp{Seconds: 5, Nanos: -1}, record, 0, false, events.ReasonInvalidTime},
		"too many nanoseconds":  {&timestamppb.Timestamp{Seconds: 5, Nanos: 1e9}, record, 0, false, events.ReasonInvalidTime},
	}
	var d events.Decoder
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m, r, v := message(&pb.ChannelDeleted{}), read(&pb.UserErased{}), delivery(&pb.Queued{MessageId: "m1"})
			m.OccurredAt, r.OccurredAt, v.OccurredAt = c.at, c.at, c.at
			var em events.Message
			var er events.Read
			var ev events.Delivery
			check := func(err error, got int64, replaced bool) {
				t.Helper()
				if events.ReasonOf(err) != c.reason || (err == nil) != (c.reason == "") {
					t.Errorf("got %v, want %q", err, c.reason)
				}
				if err == nil && (got != c.want || replaced != c.replaced) {
					t.Errorf("got %d (replaced: %t), want %d (replaced: %t)", got, replaced, c.want, c.replaced)
				}
			}
			err := d.Message(mustMarshal(t, m), c.record, &em)
			check(err, em.OccurredAt, em.ClockReplaced)
			err = d.Read(mustMarshal(t, r), c.record, &er)
			check(err, er.OccurredAt, er.ClockReplaced)
			err = d.Delivery(mustMarshal(t, v), c.record, &ev)
			check(err, ev.OccurredAt, ev.ClockReplaced)
		})
	}
}

func TestTimeTargets(t *testing.T) {
	cases := map[string]struct {
		at       *timestamppb.Timestamp
		want     int64
		replaced bool
		reason   events.Reason
	}{
		"past":   {at(-3), record - 3, false, ""},
		"ahead":  {at(3_600_000), record, true, ""},
		"absurd": {&timestamppb.Timestamp{Seconds: -1}, 0, false, events.ReasonInvalidTime},
	}
	var d events.Decoder
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var m events.Message
			var r events.Read
			check := func(err error, got int64, replaced bool) {
				t.Helper()
				if events.ReasonOf(err) != c.reason || (err == nil) != (c.reason == "") {
					t.Errorf("got %v, want %q", err, c.reason)
				}
				if err == nil && (got != c.want || replaced != c.replaced) {
					t.Errorf("got %d (replaced: %t), want %d (replaced: %t)", got, replaced, c.want, c.replaced)
				}
			}
			err := d.Message(mustMarshal(t, message(&pb.MessagesPurged{Target: &pb.MessagesPurged_UpToTime{UpToTime: c.at}})), record, &m)
			check(err, m.TargetTime, m.ClockReplaced)
			err = d.Read(mustMarshal(t, read(&pb.ReadUpTo{Target: &pb.ReadUpTo_Time{Time: c.at}})), record, &r)
			check(err, r.TargetTime, r.ClockReplaced)
		})
	}
}
