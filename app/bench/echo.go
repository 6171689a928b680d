package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

const echoTopic = "echo"

// echo consumes the inputs between two positions and produces a record of the same size for each:
// the minimum cost of a consumer with outputs. It reads withheld records too.
func (s *stage) echo(ctx context.Context, from, to map[int32]projections.Position) (gauge.Result, error) {
	at := map[string]map[int32]kgo.Offset{}
	want := 0
	for i := range events.InputTopics {
		t := map[int32]kgo.Offset{}
		for p := range to {
			t[p] = kgo.NewOffset().At(from[p][i])
			want += int(to[p][i] - from[p][i])
		}
		at[s.input(events.Input(i))] = t
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.env.Brokers...), kgo.ConsumePartitions(at), kgo.FetchMaxWait(250*time.Millisecond),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return gauge.Result{}, err
	}
	defer client.Close()
	m, err := gauge.NewMeter(s.env.Brokers[0])
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
			client.Produce(ctx, &kgo.Record{Topic: s.output(echoTopic), Partition: r.Partition, Key: r.Key, Value: r.Value},
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
	return m.Stop("echo floor, mix "+s.mix.Name, want), nil
}
