package events

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// plainSample returns a typical read.
func plainSample() *eventsv1.ReadEvent {
	return &eventsv1.ReadEvent{ChannelId: "general", UserId: "alice", OccurredAt: &timestamppb.Timestamp{Seconds: 1_767_225_600, Nanos: 5_000_000},
		Kind: &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{
			Target: &eventsv1.ReadUpTo_MessageId{MessageId: "01JA3M9ZC0QK2V5T7W8X9Y0ZAA"}, ReadEpoch: 3}}}
}

func bytesOf(t testing.TB, e *eventsv1.ReadEvent) []byte {
	t.Helper()
	b, err := proto.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const plainNow = 1_767_225_600_000

// TestPlainReads: plainRead decodes the usual forms of a read, and rejects a read with an unusual
// field.
func TestPlainReads(t *testing.T) {
	upTo := func(e *eventsv1.ReadEvent) *eventsv1.ReadUpTo { return e.GetReadUpTo() }
	for name, c := range map[string]struct {
		plain  bool
		change func(e *eventsv1.ReadEvent)
	}{
		"usual":               {true, func(*eventsv1.ReadEvent) {}},
		"an instance":         {true, func(e *eventsv1.ReadEvent) { e.InstanceId = "tab-1" }},
		"no epoch":            {true, func(e *eventsv1.ReadEvent) { upTo(e).ReadEpoch = 0 }},
		"whole seconds":       {true, func(e *eventsv1.ReadEvent) { e.OccurredAt.Nanos = 0 }},
		"an id of 127 bytes":  {true, func(e *eventsv1.ReadEvent) { e.ChannelId = strings.Repeat("c", 127) }},
		"an id of 128 bytes":  {false, func(e *eventsv1.ReadEvent) { e.ChannelId = strings.Repeat("c", 128) }},
		"another alphabet":    {false, func(e *eventsv1.ReadEvent) { e.UserId = "алиса" }},
		"a control character": {false, func(e *eventsv1.ReadEvent) { e.UserId = "al\x7fice" }},
		"no user":             {false, func(e *eventsv1.ReadEvent) { e.UserId = "" }},
		"no time":             {false, func(e *eventsv1.ReadEvent) { e.OccurredAt = nil }},
		"the year 1":          {false, func(e *eventsv1.ReadEvent) { e.OccurredAt.Seconds = -62135596800 }},
		"a clock ahead":       {false, func(e *eventsv1.ReadEvent) { e.OccurredAt.Seconds += 400 }},
		"a newer version":     {false, func(e *eventsv1.ReadEvent) { e.MinVersion = 3 }},
		"private":             {false, func(e *eventsv1.ReadEvent) { upTo(e).Private = true }},
		"a thread":            {false, func(e *eventsv1.ReadEvent) { upTo(e).ThreadId = "t" }},
		"up to a seq":         {false, func(e *eventsv1.ReadEvent) { upTo(e).Target = &eventsv1.ReadUpTo_Seq{Seq: 4} }},
		"a follow": {false, func(e *eventsv1.ReadEvent) {
			e.Kind = &eventsv1.ReadEvent_ThreadFollowed{ThreadFollowed: &eventsv1.ThreadFollowed{ThreadId: "t"}}
		}},
	} {
		e := plainSample()
		c.change(e)
		var r Read
		if plain := plainRead(bytesOf(t, e), plainNow, &r); plain != c.plain {
			t.Errorf("%s: plain %v, want %v", name, plain, c.plain)
		}
	}
}

// TestPlainReadsSayNothingElse changes values at random: if plainRead accepts one, readFields
// decodes it to the same event.
func TestPlainReadsSayNothingElse(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	whole := bytesOf(t, plainSample())
	var d Decoder
	var short, long Read
	taken := 0
	for range 200_000 {
		value := bytes.Clone(whole)
		switch r.IntN(4) {
		case 0: // a field once more
			value = append(value, value[:r.IntN(len(value))]...)
		case 1:
			value = value[:r.IntN(len(value))]
		case 2:
			at := r.IntN(len(value))
			value = append(value[:at:at], append([]byte{byte(r.Uint32())}, value[at:]...)...)
		}
		for range r.IntN(3) {
			if len(value) > 0 {
				value[r.IntN(len(value))] = byte(r.Uint32() >> r.IntN(8))
			}
		}
		now := plainNow + r.Int64N(1_000_000) - 500_000
		if !plainRead(value, now, &short) {
			continue
		}
		taken++
		if err := d.readFields(value, now, &long); err != nil {
			t.Fatalf("%q is taken, and in the long way: %v", value, err)
		}
		same := short.Kind == long.Kind && bytes.Equal(short.ChannelID, long.ChannelID) && bytes.Equal(short.UserID, long.UserID) &&
			bytes.Equal(short.InstanceID, long.InstanceID) && short.OccurredAt == long.OccurredAt && short.Target == long.Target &&
			bytes.Equal(short.MessageID, long.MessageID) && short.Seq == long.Seq && short.TargetTime == long.TargetTime &&
			len(long.ThreadID) == 0 && short.ReadEpoch == long.ReadEpoch && !long.Private && len(long.IDs) == 0 &&
			len(long.HeadMessageID) == 0 && long.HeadSeq == 0 && !long.Muted && !long.ClockReplaced
		if !same {
			t.Fatalf("%q is %+v, and in the long way %+v", value, short, long)
		}
	}
	if taken < 10_000 {
		t.Errorf("only %d of the values were taken", taken)
	}
}
