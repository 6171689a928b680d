package importer

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// ends returns the end offsets of a topic's partitions.
func ends(ctx context.Context, adm *kadm.Client, topic string, partitions int) ([]int64, error) {
	listed, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("end offsets of %s: %w", topic, err)
	}
	list := make([]int64, partitions)
	for p := range list {
		o, ok := listed.Lookup(topic, int32(p))
		if !ok || o.Err != nil {
			return nil, fmt.Errorf("the end of %s/%d is not known: the partition has no leader now", topic, p)
		}
		list[p] = o.Offset
	}
	return list, nil
}

// quiet is how long a log may deliver nothing before its end counts as reached: its last entry may
// be a marker instead of a record.
const quiet = 5 * time.Second

// patience is how long a broker may take to answer.
const patience = 10 * time.Second

// readLog calls fn for the records of a topic between two offsets of each partition.
func readLog(ctx context.Context, conf *Config, topic string, from, to []int64, fn func(*kgo.Record) error) error {
	left, offsets := kafkaadmin.Left{}, map[int32]kgo.Offset{}
	for p := range to {
		if from[p] < to[p] {
			left[int32(p)], offsets[int32(p)] = to[p], kgo.NewOffset().At(from[p])
		}
	}
	if len(left) == 0 {
		return nil
	}
	cl, err := conf.Kafka.Client(ctx, patience,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(250*time.Millisecond), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	for len(left) > 0 {
		wait, cancel := context.WithTimeout(ctx, quiet)
		fetches := cl.PollFetches(wait)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, e := range fetches.Errors() {
			if e.Topic != "" && !inflate.Deferred(e.Err) {
				return fmt.Errorf("%s/%d: %w", e.Topic, e.Partition, e.Err)
			}
		}
		if fetches.NumRecords() == 0 && wait.Err() != nil {
			return nil
		}
		if err := left.Take(fetches, fn); err != nil {
			return err
		}
	}
	return nil
}

// headerImport marks the records of an import with its name.
const headerImport = "tidemark-import"

// written is a record of this import that the log has after the checkpoint.
type written struct {
	value  []byte
	offset int64
}

// tailOf returns the records of the import after a checkpoint, by partition.
func tailOf(ctx context.Context, conf *Config, cl *kgo.Client, topic, name string, from []int64) ([][]written, error) {
	to, err := ends(ctx, kadm.NewClient(cl), topic, len(from))
	if err != nil {
		return nil, err
	}
	tail := make([][]written, len(from))
	return tail, readLog(ctx, conf, topic, from, to, func(r *kgo.Record) error {
		for _, h := range r.Headers {
			if h.Key == headerImport && string(h.Value) == name {
				tail[r.Partition] = append(tail[r.Partition], written{r.Value, r.Offset})
			}
		}
		return nil
	})
}
