package paths

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/gauge"
)

// echo consumes the inputs and produces a record of the same size for each: the minimum cost of a
// consumer with outputs.
func (s *stage) echo(ctx context.Context) (gauge.Result, error) {
	ends, err := s.ends(ctx, s.inputs())
	if err != nil {
		return gauge.Result{}, err
	}
	want := int(offsets{}.missing(ends))
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.ConsumeTopics(s.inputs()...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(250*time.Millisecond), kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return gauge.Result{}, err
	}
	defer client.Close()
	m, err := gauge.NewMeter(s.brokers[0])
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
			client.Produce(ctx, &kgo.Record{Topic: s.topic(echoTopic), Partition: r.Partition, Key: r.Key, Value: r.Value},
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
	return m.Stop(echoName(s.mix.Name), want), nil
}

func echoName(mix string) string { return "echo (no Tidemark), mix " + mix }
