package travel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/projections"
)

// Record is a record about a user in a channel. It never has the text of a message.
type Record struct {
	ID        string    `json:"record"` // topic/partition/offset
	Time      time.Time `json:"time"`   // the record's timestamp
	Kind      string    `json:"kind"`
	By        string    `json:"by,omitempty"` // sender, or the user
	MessageID string    `json:"message_id,omitempty"`
	ThreadID  string    `json:"thread_id,omitempty"`
	Seq       uint32    `json:"seq,omitempty"`
}

// explain adds the records between two positions of a partition to the channels that changed.
func (g *Guide) explain(ctx context.Context, q *Question, list []Changed, n int32, from, to projections.Position) error {
	if len(list) == 0 {
		return nil
	}
	channels := map[string]*Changed{}
	for i := range list {
		channels[list[i].ChannelID] = &list[i]
	}
	s := sieve{user: q.UserID}
	err := g.read(ctx, n, from, to, func(in events.Input, r *kgo.Record) {
		c := channels[string(r.Key)]
		if c == nil {
			return
		}
		one, ok := s.record(in, r)
		switch {
		case !ok:
		case len(c.Records) < q.Records:
			c.Records = append(c.Records, one)
		default:
			c.More++
		}
	})
	for i := range list {
		slices.SortStableFunc(list[i].Records, func(a, b Record) int { return a.Time.Compare(b.Time) })
	}
	return err
}

// read calls fn for the records of a partition between two positions, one input after the other.
func (g *Guide) read(ctx context.Context, n int32, from, to projections.Position, fn func(events.Input, *kgo.Record)) error {
	for in, topic := range g.fold.Topics.Inputs {
		if from[in] < to[in] {
			if err := g.readLog(ctx, topic, n, from[in], to[in], func(r *kgo.Record) { fn(events.Input(in), r) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *Guide) readLog(ctx context.Context, topic string, n int32, from, to int64, fn func(*kgo.Record)) error {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(g.fold.Brokers...), kgo.ClientID("tidemark-travel"), kgo.DisableClientMetrics(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {n: kgo.NewOffset().At(from)}}), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepControlRecords(), // so that a log that ends in one is read to its end
		kgo.FetchMaxPartitionBytes(1 << 20), kgo.FetchMaxBytes(2 << 20), kgo.MaxConcurrentFetches(1),
	}, g.fold.ClientOptions...)...)
	if err != nil {
		return fmt.Errorf("creating a Kafka client for %s/%d: %w", topic, n, err)
	}
	defer client.Close()
	for next := from; next < to; {
		quiet, cancel := context.WithTimeout(ctx, patience)
		fetches := client.PollFetches(quiet)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if quiet.Err() != nil && fetches.NumRecords() == 0 {
			return fmt.Errorf("%s/%d: no record from offset %d on came within %s", topic, n, next, patience)
		}
		for _, e := range fetches.Errors() {
			if e.Topic != "" && !inflate.Deferred(e.Err) {
				return fmt.Errorf("%s/%d: %w", topic, n, e.Err)
			}
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			if r.Offset < to && !r.Attrs.IsControl() {
				fn(r)
			}
			next = r.Offset + 1
		}
	}
	return nil
}

// sieve keeps the records about one user.
type sieve struct {
	user     string
	decoder  events.Decoder
	message  events.Message
	read     events.Read
	delivery events.Delivery
}

// record describes a record. It returns false if the record is bad or not about the user.
func (s *sieve) record(in events.Input, r *kgo.Record) (out Record, ok bool) {
	out = Record{ID: events.RecordID{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String(), Time: r.Timestamp.UTC()}
	millis := r.Timestamp.UnixMilli()
	switch in {
	case events.Messages:
		m := &s.message
		if s.decoder.Message(r.Value, millis, m) != nil {
			return out, false
		}
		if m.Kind == events.KindMembersJoined || m.Kind == events.KindMembersLeft {
			if !slices.ContainsFunc(m.IDs, func(id []byte) bool { return string(id) == s.user }) {
				return out, false
			}
		}
		out.Kind, out.By, out.MessageID, out.ThreadID, out.Seq = m.Kind.String(), string(m.SenderID), string(m.MessageID), string(m.ThreadID), m.Seq
	case events.Reads:
		m := &s.read
		if s.decoder.Read(r.Value, millis, m) != nil || string(m.UserID) != s.user {
			return out, false
		}
		out.Kind, out.By, out.MessageID, out.ThreadID, out.Seq = m.Kind.String(), s.user, string(m.MessageID), string(m.ThreadID), m.Seq
		if out.MessageID == "" {
			out.MessageID = joined(m.IDs)
		}
	case events.Deliveries:
		m := &s.delivery
		if s.decoder.Delivery(r.Value, millis, m) != nil || string(m.UserID) != s.user {
			return out, false
		}
		out.Kind, out.By, out.MessageID = m.Kind.String(), s.user, string(m.MessageID)
		if out.MessageID == "" {
			out.MessageID = string(m.UpToID)
		}
	}
	return out, true
}

// joined returns the first few of a list of ids.
func joined(ids [][]byte) string {
	const few = 5
	var list []string
	for _, id := range ids[:min(len(ids), few)] {
		list = append(list, string(id))
	}
	if len(ids) > few {
		list = append(list, "…")
	}
	return strings.Join(list, " ")
}
