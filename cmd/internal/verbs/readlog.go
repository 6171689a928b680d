package verbs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// Span is a piece of a partition's log: offsets from, inclusive, to to, exclusive.
type Span struct {
	Partition int32
	Leader    int32
	From, To  int64
}

// SpansOf returns the whole logs of a topic's partitions, by number.
func SpansOf(ctx context.Context, adm *kadm.Client, topic string) ([]Span, error) {
	topics, err := adm.ListTopics(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of topic %s: %w", topic, err)
	}
	detail := topics[topic]
	if detail.Err != nil {
		return nil, fmt.Errorf("topic %s: %w: `tidemark topics create` makes those of Tidemark", topic, noTopic(detail.Err))
	}
	starts, err := adm.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("start offsets of topic %s: %w", topic, err)
	}
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("end offsets of topic %s: %w", topic, err)
	}
	var spans []Span
	for _, p := range detail.Partitions.Sorted() {
		start, ok1 := starts.Lookup(topic, p.Partition)
		end, ok2 := ends.Lookup(topic, p.Partition)
		if !ok1 || !ok2 || start.Err != nil || end.Err != nil {
			return nil, fmt.Errorf("%s/%d cannot be read now: the partition has no leader", topic, p.Partition)
		}
		spans = append(spans, Span{p.Partition, p.Leader, start.Offset, end.Offset})
	}
	return spans, nil
}

// noTopic replaces Kafka's error for a missing topic with a plain one.
func noTopic(err error) error {
	if err == kerr.UnknownTopicOrPartition { //nolint:errorlint // kadm hands out the constant
		return fmt.Errorf("there is no such topic")
	}
	return err
}

// readQuiet is how long a log may deliver nothing before its end counts as reached: after a
// compaction or a transaction, the last offset need not be a record.
const readQuiet = 5 * time.Second

// ReadSpans calls fn for the records of spans, in order of each partition, until the ends or until
// fn fails.
func ReadSpans(a *App, f BrokersFlags, topic string, spans []Span, fn func(*kgo.Record) error) error {
	left := kafkaadmin.Left{}
	offsets := map[int32]kgo.Offset{}
	for _, s := range spans {
		if s.From < s.To {
			left[s.Partition], offsets[s.Partition] = s.To, kgo.NewOffset().At(s.From)
		}
	}
	if len(left) == 0 {
		return nil
	}
	cl, err := f.Client(a,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepControlRecords(), // so that a log that ends in one is read to its end
		kgo.FetchMaxWait(250*time.Millisecond),
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	for len(left) > 0 {
		ctx, cancel := context.WithTimeout(a.Ctx, readQuiet)
		fetches := cl.PollFetches(ctx)
		cancel()
		if a.Ctx.Err() != nil {
			return context.Cause(a.Ctx)
		}
		if fetches.NumRecords() == 0 && ctx.Err() != nil {
			return nil
		}
		for _, e := range fetches.Errors() {
			if e.Topic != "" && !inflate.Deferred(e.Err) {
				return fmt.Errorf("%s/%d: %w", e.Topic, e.Partition, inflate.InWords(e.Err, inflate.Limit(cl)))
			}
		}
		if err := left.Take(fetches, fn); err != nil {
			return err
		}
	}
	return nil
}

// Only keeps the span of one partition.
func Only(spans []Span, topic string, partition int32) ([]Span, error) {
	i := slices.IndexFunc(spans, func(s Span) bool { return s.Partition == partition })
	if i < 0 {
		return nil, Usagef("topic %s has partitions 0 to %d, not %d", topic, len(spans)-1, partition)
	}
	return spans[i : i+1], nil
}
