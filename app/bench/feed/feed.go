package feed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/traffic"
)

// Feed writes the events of a mix into topics with a prefix.
type Feed struct {
	Brokers    []string
	Mix        traffic.Mix
	Prefix     string // of the input topics
	Partitions int32
}

// Events calls emit for events, one after the other.
type Events func(emit func(*traffic.Event))

// Next has the next n events of a generator.
func Next(g *traffic.Generator, n int) Events {
	return func(emit func(*traffic.Event)) {
		for range n {
			e := g.Next()
			emit(&e)
		}
	}
}

// Producer returns a client that writes as a busy chat server does: batches of at most 64 KiB.
func (f Feed) Producer(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(opts, kgo.SeedBrokers(f.Brokers...), kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(64<<10), kgo.MaxBufferedRecords(200_000),
		kgo.UnknownTopicRetries(100), // while a broker deletes the hundreds of partitions of the last bench
		kgo.ProducerLinger(5*time.Millisecond))...)
}

// Withhold writes events in a transaction, so that only consumers of uncommitted records see them.
// release commits it.
func (f Feed) Withhold(ctx context.Context, all Events) (release func() error, err error) {
	client, err := f.Producer(kgo.TransactionalID(f.Prefix+"withheld"), kgo.TransactionTimeout(10*time.Minute))
	if err != nil {
		return nil, err
	}
	if err = client.BeginTransaction(); err == nil {
		err = f.Write(ctx, client, all)
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return func() error {
		defer client.Close()
		return client.EndTransaction(ctx, kgo.TryCommit)
	}, nil
}

// Write writes events, and returns when the brokers have acknowledged all of them.
func (f Feed) Write(ctx context.Context, client *kgo.Client, all Events) error {
	var failed atomic.Pointer[error]
	all(func(e *traffic.Event) {
		kv := append(append(make([]byte, 0, len(e.Key)+len(e.Value)), e.Key...), e.Value...)
		client.Produce(ctx, &kgo.Record{
			Topic: f.Prefix + events.InputTopics[e.Input], Partition: events.PartitionOf(e.Key, f.Partitions), Timestamp: time.UnixMilli(e.Millis),
			Key: kv[:len(e.Key):len(e.Key)], Value: kv[len(e.Key):],
		}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		})
	})
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return fmt.Errorf("produce mix %s: %w", f.Mix.Name, *err)
	}
	return nil
}

// Pace writes the next n events of a generator at a rate per second, with exponentially distributed
// gaps. It returns early, without an error, when ctx is done.
func (f Feed) Pace(ctx context.Context, client *kgo.Client, g *traffic.Generator, n, rate int) error {
	due := time.Now()
	// Events that were emitted before ctx ended must still be produced.
	return f.Write(context.WithoutCancel(ctx), client, func(emit func(*traffic.Event)) {
		for range n {
			due = due.Add(time.Duration(rand.ExpFloat64() * float64(time.Second) / float64(rate)))
			if wait := time.Until(due); wait > time.Millisecond {
				time.Sleep(wait) // events that became due meanwhile follow at once
			}
			if ctx.Err() != nil {
				return
			}
			e := g.Next()
			emit(&e)
		}
	})
}
