package chaos

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// records returns all records of some topics up to their current ends, in the order of each
// partition.
func (c *cluster) records(topics ...string) []*kgo.Record {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longPatience)
	defer cancel()
	ends, err := c.admin.ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		c.t.Fatalf("ends of %v: %v", topics, err)
	}
	left := int64(0)
	from := map[string]map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		if from[end.Topic] == nil {
			from[end.Topic] = map[int32]kgo.Offset{}
		}
		from[end.Topic][end.Partition] = kgo.NewOffset().AtStart()
		left += end.Offset // without compaction and transactions every offset is a record
	})
	client := testkit.Client(c.t, c.kafka.Brokers, kgo.ConsumePartitions(from))
	defer client.Close()
	var records []*kgo.Record
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := errors.Join(fetches.Err0(), ctx.Err()); err != nil {
			c.t.Fatalf("read %v, %d records are missing: %v", topics, left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, _ := ends.Lookup(r.Topic, r.Partition)
			if r.Offset < end.Offset {
				records = append(records, r)
				left--
			}
		})
	}
	return records
}

// truth reads the inputs.
func (c *cluster) truth() *checker.Log {
	c.t.Helper()
	return checker.NewLog(settings(), partitions, c.records(events.InputTopics[:]...))
}
