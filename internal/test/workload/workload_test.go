package workload

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// made returns the records of n events of a seed.
func made(seed uint64, n int) (records []*kgo.Record) {
	return madeBy(seed, n, false)
}

func madeBy(seed uint64, n int, varied bool) (records []*kgo.Record) {
	w := New(seed, Company{Partitions: 3, People: 12, Busy: []int{3, 7}, Quiet: 5, Varied: varied}, func(r *kgo.Record) { records = append(records, r) })
	w.Write(n)
	return records
}

// TestVariedAddsWhatIsRare: Varied adds single deliveries, reads and marks in threads, private
// single reads, and member counts.
func TestVariedAddsWhatIsRare(t *testing.T) {
	for _, varied := range []bool{false, true} {
		seen := map[string]int{}
		for _, r := range madeBy(3, 5000, varied) {
			ms := r.Timestamp.UnixMilli()
			var d events.Decoder
			var m events.Message
			var rd events.Read
			var dl events.Delivery
			switch r.Topic {
			case events.TopicMessages:
				if d.Message(r.Value, ms, &m) == nil && m.MemberCount > 0 {
					seen["size"]++
				}
			case events.TopicReads:
				if d.Read(r.Value, ms, &rd) != nil {
					continue
				}
				if rd.Kind == events.KindMarkedUnread && len(rd.ThreadID) > 0 {
					seen["mark in a thread"]++
				}
				if rd.Kind == events.KindMessagesRead && len(rd.ThreadID) > 0 {
					seen["single read in a thread"]++
				}
				if rd.Kind == events.KindMessagesRead && rd.Private {
					seen["private single read"]++
				}
			case events.TopicDeliveries:
				if d.Delivery(r.Value, ms, &dl) == nil && dl.Kind == events.KindDelivered && len(dl.MessageID) > 0 {
					seen["single delivery"]++
				}
			}
		}
		if want := map[bool]int{true: 5}[varied]; len(seen) != want {
			t.Errorf("varied %t: %v, want %d kinds of what is rare", varied, seen, want)
		}
	}
}

// TestEventsAreAFunctionOfTheSeed: a seed repeats a run.
func TestEventsAreAFunctionOfTheSeed(t *testing.T) {
	a, b, other := made(7, 2000), made(7, 2000), made(8, 2000)
	same := 0
	for i := range a {
		if a[i].Topic != b[i].Topic || a[i].Partition != b[i].Partition || !a[i].Timestamp.Equal(b[i].Timestamp) ||
			!bytes.Equal(a[i].Key, b[i].Key) || !bytes.Equal(a[i].Value, b[i].Value) {
			t.Fatalf("event %d of the same seed differs: %+v, %+v", i, a[i], b[i])
		}
		if i < len(other) && bytes.Equal(a[i].Value, other[i].Value) {
			same++
		}
	}
	if same > len(a)/10 {
		t.Errorf("%d of %d events of another seed are the same", same, len(a))
	}
}

// TestEveryKindComesUp: a workload has each kind of event, records in JSON and in Protobuf, and bad
// records of several reasons.
func TestEveryKindComesUp(t *testing.T) {
	seen := map[string]int{}
	for _, r := range made(3, 20_000) {
		ms := r.Timestamp.UnixMilli()
		var d events.Decoder
		var m events.Message
		var rd events.Read
		var dl events.Delivery
		var kind any
		var channel []byte
		var err error
		switch r.Topic {
		case events.TopicMessages:
			err = d.Message(r.Value, ms, &m)
			kind, channel = m.Kind, m.ChannelID
		case events.TopicReads:
			err = d.Read(r.Value, ms, &rd)
			kind, channel = rd.Kind, rd.ChannelID
		case events.TopicDeliveries:
			err = d.Delivery(r.Value, ms, &dl)
			kind, channel = dl.Kind, dl.ChannelID
		}
		if err == nil {
			err = events.CheckPartition(channel, r.Partition, 3)
		}
		if err != nil {
			seen["bad: "+string(events.ReasonOf(err))]++
			continue
		}
		seen[fmt.Sprintf("%s kind %v", r.Topic, kind)]++
		if r.Value[0] == '{' {
			seen["JSON"]++
		} else {
			seen["Protobuf"]++
		}
	}
	kinds := map[string]int{}
	for what := range seen {
		for _, topic := range events.InputTopics {
			if len(what) > len(topic) && what[:len(topic)] == topic {
				kinds[topic]++
			}
		}
	}
	// DESIGN §3 has 7 kinds of chat.messages, 7 of chat.reads and 2 of chat.deliveries.
	if kinds[events.TopicMessages] != 7 || kinds[events.TopicReads] != 7 || kinds[events.TopicDeliveries] != 2 {
		t.Errorf("kinds by topic: %v, of %v", kinds, seen)
	}
	for _, what := range []string{"JSON", "Protobuf", "bad: undecodable", "bad: empty_value"} {
		if seen[what] == 0 {
			t.Errorf("no %s among %v", what, seen)
		}
	}
}
