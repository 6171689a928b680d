package feed

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/gauge"
)

// Echo consumes want records and produces a record of the same size to a topic for each: the minimum
// cost of a consumer with outputs. from says what to consume, name names the result.
func (f Feed) Echo(ctx context.Context, name, to string, want int, from ...kgo.Opt) (gauge.Result, error) {
	client, err := kgo.NewClient(append(from, kgo.SeedBrokers(f.Brokers...), kgo.FetchMaxWait(250*time.Millisecond),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(100_000))...)
	if err != nil {
		return gauge.Result{}, err
	}
	defer client.Close()
	m, err := gauge.NewMeter(f.Brokers[0])
	if err != nil {
		return gauge.Result{}, err
	}
	m.Start()
	var acks sync.WaitGroup
	var failed atomic.Pointer[error]
	for got := 0; got < want; {
		f := client.PollRecords(ctx, 10_000)
		if err := f.Err(); err != nil {
			return gauge.Result{}, err
		}
		got += f.NumRecords()
		f.EachRecord(func(r *kgo.Record) {
			acks.Add(1)
			client.Produce(ctx, &kgo.Record{Topic: to, Partition: r.Partition, Key: r.Key, Value: r.Value},
				func(_ *kgo.Record, err error) {
					if err != nil {
						failed.CompareAndSwap(nil, &err)
					}
					acks.Done()
				})
		})
	}
	acks.Wait()
	if err := failed.Load(); err != nil {
		return gauge.Result{}, *err
	}
	return m.Stop(name, want), nil
}
