package sqlsink

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// readAll calls each with the records of the topics, from the start of each log to its current end.
func readAll(ctx context.Context, cfg *Config, each func(*kgo.Record) error) error {
	cl, err := kgo.NewClient(append(slices.Clone(cfg.ClientOptions), kgo.SeedBrokers(cfg.Brokers...), kgo.ClientID("tidemark-sql-verify"),
		kgo.DisableClientMetrics(), kgo.KeepControlRecords(), kgo.FetchMaxBytes(cfg.FetchBytes))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	starts, err := adm.ListStartOffsets(ctx, cfg.topics()...)
	if err != nil {
		return fmt.Errorf("starts of the logs: %w", err)
	}
	ends, err := adm.ListEndOffsets(ctx, cfg.topics()...)
	if err != nil {
		return fmt.Errorf("ends of the logs: %w", err)
	}
	left := map[partition]int64{} // the next offset after the last record to read
	from := map[string]map[int32]kgo.Offset{}
	var failed error
	ends.Each(func(end kadm.ListedOffset) {
		start, ok := starts.Lookup(end.Topic, end.Partition)
		switch {
		case end.Err != nil || !ok || start.Err != nil:
			failed = fmt.Errorf("%s/%d cannot be read now", end.Topic, end.Partition)
		case start.Offset < end.Offset:
			left[partition{Topic: end.Topic, Number: end.Partition}] = end.Offset
			if from[end.Topic] == nil {
				from[end.Topic] = map[int32]kgo.Offset{}
			}
			from[end.Topic][end.Partition] = kgo.NewOffset().At(start.Offset)
		}
	})
	if failed != nil {
		return failed
	}
	cl.AddConsumePartitions(from)
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			p := partition{Topic: r.Topic, Number: r.Partition}
			end, ok := left[p]
			if !ok || failed != nil {
				return
			}
			if r.Offset < end && !r.Attrs.IsControl() {
				failed = each(r)
			}
			if r.Offset+1 >= end {
				delete(left, p)
			}
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}
