package processor

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/steps"
)

// TestPoisonBecomesADeadLetter: whatever the value is, the record is copied to the dead letters
// with its reason. The other records are folded, and the position moves past it for good.
func TestPoisonBecomesADeadLetter(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 2)
		dir := t.TempDir()
		m := s.start(s.config(dir)).ready(2)
		own := events.PartitionOf([]byte("general"), 2)
		poison := map[events.Reason][]byte{
			events.ReasonUndecodable: []byte("\xff\xff\xff"),
			events.ReasonEmptyValue:  nil,
			events.ReasonInvalidID:   []byte(`{"channelId":"general","messagePosted":{"messageId":"","senderId":"u"}}`),
			events.ReasonNoKind:      []byte(`{"channelId":"general"}`),
			events.ReasonTooLarge:    bytes.Repeat([]byte("x"), events.MaxValueBytes+1),
		}
		offsets := map[events.Reason]int64{}
		s.join("general", "alice", "bob")
		for reason, value := range poison {
			offsets[reason] = s.raw(events.Messages, own, []byte("general"), value).Offset
		}
		// The topics' limit applies to compressed records, so this record cannot be produced again
		// as it is.
		huge := s.raw(events.Reads, own, []byte("huge"), bytes.Repeat([]byte("x"), events.MaxValueBytes+1<<20))
		elsewhere := s.raw(events.Messages, 1-own, []byte("general"), mustMarshal(t, postBy("general", "stray", "carol")))
		last := s.post("general", "m1", "alice")
		if n := m.unread(last, "bob", "general"); n != 1 {
			t.Errorf("bob has %d unread, want 1", n)
		}
		s.caughtUp(m)
		m.stop()
		s.start(s.config(dir)).ready(2).stop() // reads none of it again

		letters := s.deadLetters()
		if len(letters) != len(poison)+2 {
			t.Fatalf("%d dead letters, want %d", len(letters), len(poison)+2)
		}
		for _, r := range letters {
			if string(r.Key) == "huge" {
				if header(r, steps.HeaderReason) != string(events.ReasonTooLarge) || header(r, steps.HeaderTopic) != s.names().Inputs[events.Reads] ||
					header(r, steps.HeaderOffset) != fmt.Sprint(huge.Offset) || header(r, steps.HeaderLeftOut) == "" || len(r.Value) > 0 {
					t.Errorf("of a record that is too large to be copied: headers %v, value of %d bytes", r.Headers, len(r.Value))
				}
				continue
			}
			reason := events.Reason(header(r, steps.HeaderReason))
			partition, offset := own, offsets[reason]
			want := poison[reason]
			if reason == events.ReasonWrongPartition {
				partition, offset, want = 1-own, elsewhere.Offset, elsewhere.Value
			}
			if header(r, steps.HeaderTopic) != s.names().Inputs[0] || header(r, steps.HeaderPartition) != fmt.Sprint(partition) ||
				header(r, steps.HeaderOffset) != fmt.Sprint(offset) || !bytes.Equal(r.Value, want) || string(r.Key) != "general" {
				t.Errorf("%s: headers %v, value of %d bytes, want that of offset %d with %d bytes", reason, r.Headers, len(r.Value), offset, len(want))
			}
		}
	})
}

// deadLetters reads the dead letters.
func (s *site) deadLetters() []*kgo.Record {
	s.t.Helper()
	topic := s.names().DeadLetters
	listed := s.endsOf(topic)
	want := int64(0)
	listed.Each(func(o kadm.ListedOffset) { want += o.Offset })
	client := s.newClient(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	var all []*kgo.Record
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for int64(len(all)) < want {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, fetches.Records()...)
	}
	return all
}

func TestNewerVersionStopsOnlyItsPartition(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 3)
		m := s.start(s.config(t.TempDir())).ready(3)
		own := events.PartitionOf([]byte("general"), 3)
		s.join("general", "alice")
		r := s.raw(events.Messages, own, []byte("general"), []byte(`{"channelId":"general","minVersion":3,"someday":{}}`))
		m.failedWith(own, 3, fmt.Sprintf("%s/%d at offset %d", r.Topic, own, r.Offset), "version 3")
		until(t, "what came before is committed", func() bool { return s.committed()[own][events.Messages] == r.Offset })
		for _, channel := range []string{"a", "b", "c", "d", "e"} {
			if events.PartitionOf([]byte(channel), 3) != own {
				m.unread(s.join(channel, "alice"), "alice", channel)
			}
		}
		if n := len(s.deadLetters()); n != 0 {
			t.Errorf("%d dead letters: a newer version is not bad", n)
		}
	})
}
