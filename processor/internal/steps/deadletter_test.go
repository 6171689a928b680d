package steps

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// headerOf returns the last header of a name, which is the one that counts.
func headerOf(r *kgo.Record, key string) string {
	v := ""
	for _, h := range r.Headers {
		if h.Key == key {
			v = string(h.Value)
		}
	}
	return v
}

func TestDeadLetterIsACopyWithReasons(t *testing.T) {
	r := &kgo.Record{
		Topic: "chat.reads", Partition: 3, Offset: 42, Key: []byte("k\x00"), Value: []byte("\xff{"),
		Timestamp: time.UnixMilli(1_700_000_000_123),
		Headers:   []kgo.RecordHeader{{Key: "trace", Value: []byte("t1")}, {Key: HeaderReason, Value: []byte("old")}},
	}
	d := deadLetter("dead", r, &events.Error{Reason: events.ReasonInvalidID, Field: "user_id", Detail: "missing"})
	if d.Topic != "dead" || d.Partition != 3 || string(d.Key) != "k\x00" || string(d.Value) != "\xff{" {
		t.Errorf("copy is %+v", d)
	}
	for key, want := range map[string]string{
		HeaderTopic: "chat.reads", HeaderPartition: "3", HeaderOffset: "42", HeaderReason: "invalid_id",
		HeaderDetail: "bad event: invalid_id: user_id: missing", HeaderTimestamp: "1700000000123", "trace": "t1",
	} {
		if got := headerOf(d, key); got != want {
			t.Errorf("header %s is %q, want %q", key, got, want)
		}
	}
	if n := len(d.Headers); n != 7 {
		t.Errorf("%d headers, want 7: its own replace those of the same name", n)
	}
}

// TestDeadLetterOfWhatIsTooLargeFits: a compressed record may be larger than any that can be
// produced again. The dead letter names its place; a partition that cannot write the dead letter
// would stop.
func TestDeadLetterOfWhatIsTooLargeFits(t *testing.T) {
	large := func(n int) []byte { return make([]byte, n) }
	for what, r := range map[string]*kgo.Record{
		"value":   {Value: large(events.MaxValueBytes + 65<<10), Key: []byte("k")},
		"key":     {Value: []byte("v"), Key: large(MaxCopied)},
		"header":  {Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h", Value: large(MaxCopied)}}},
		"headers": {Value: []byte("v"), Headers: make([]kgo.RecordHeader, MaxCopied/4)},
	} {
		d := deadLetter("dead", r, &events.Error{Reason: events.ReasonTooLarge})
		size := len(d.Key) + len(d.Value)
		for _, h := range d.Headers {
			size += len(h.Key) + len(h.Value)
		}
		if size > copiedKey+1000 || headerOf(d, HeaderLeftOut) == "" || headerOf(d, HeaderReason) != "too_large" || headerOf(d, HeaderOffset) != "0" {
			t.Errorf("large %s: %d bytes, headers %v", what, size, d.Headers)
		}
	}
	whole := &kgo.Record{Value: large(events.MaxValueBytes + 1), Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: HeaderLeftOut, Value: []byte("x")}}}
	if d := deadLetter("dead", whole, &events.Error{Reason: events.ReasonTooLarge}); len(d.Value) != len(whole.Value) || headerOf(d, HeaderLeftOut) != "" {
		t.Errorf("a record that fits is copied with %d bytes, left out: %q", len(d.Value), headerOf(d, HeaderLeftOut))
	}
}

func TestReasonIsNeverEmpty(t *testing.T) {
	if got := reasonOf(errors.New("what")); got != events.ReasonUndecodable {
		t.Errorf("reason %q", got)
	}
}
