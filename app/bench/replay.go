package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/processor"
)

// replayEvents is the number of events in a rebuild on the embedded broker, and replayKafkaEvents
// on separate brokers. They are large enough that opening and closing the stores, and half a
// million new pairs, are a small part of the time.
const (
	replayEvents      = 2_000_000
	replayKafkaEvents = 20_000_000
)

// replayGCPercent is the GC percentage of `tidemark replay`: Go's default. Fetched and decoded
// records soon become garbage, and frequent collections reuse their memory instead of taking more
// from the machine.
const replayGCPercent = 100

// kafkaName is the name of brokers in their own process.
const kafkaName = "Kafka"

// Replay measures how fast stores are rebuilt from the topics, and beside it a bare consume of the
// same topics: on the embedded broker, which runs in this process, and on env's brokers if it has
// any.
func Replay(ctx context.Context, env Env) ([]gauge.Result, error) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	defer cluster.Close()
	out, err := replayOn(ctx, Env{Brokers: cluster.ListenAddrs(), Progress: env.Progress}, "embedded broker", replayEvents)
	if err != nil || len(env.Brokers) == 0 {
		return out, err
	}
	real, err := replayOn(ctx, env, kafkaName, replayKafkaEvents)
	return append(out, real...), err
}

func replayOn(ctx context.Context, env Env, name string, n int) (out []gauge.Result, err error) {
	return out, on(ctx, env, traffic.Mixes["B"], func(s *stage) error {
		if err := s.write(ctx, n); err != nil {
			return err
		}
		var servers []string
		if name == kafkaName {
			servers = env.Brokers[:1]
		}
		m, err := gauge.NewMeter(servers...)
		if err != nil {
			return err
		}
		m.Start()
		records, err := s.consume(ctx)
		if err != nil {
			return err
		}
		bare := m.Stop("bare consume, "+name, int(records))
		m.Start()
		if err := s.rebuild(ctx); err != nil {
			return err
		}
		replay := m.Stop("replay, "+name, int(records))
		if name == kafkaName {
			replay.Goals = []gauge.Goal{gauge.AtLeast("of a bare consume", replay.Rate/bare.Rate, 0.5)}
		} else {
			replay.Goals = []gauge.Goal{gauge.AtLeast("events/s", replay.Rate, 600_000)}
			replay.Note += fmt.Sprintf("; %.2f of a bare consume", replay.Rate/bare.Rate)
		}
		out = append(out, bare, replay)
		return nil
	})
}

// consume reads the inputs from start to end and discards the records.
func (s *stage) consume(ctx context.Context) (records int64, err error) {
	ends, err := s.ends(ctx)
	if err != nil {
		return 0, err
	}
	s.env.report("bare consume")
	from := map[string]map[int32]kgo.Offset{}
	var want int64
	for i := range events.InputTopics {
		of := map[int32]kgo.Offset{}
		for n, end := range ends {
			of[n] = kgo.NewOffset().At(0)
			want += end[i]
		}
		from[s.input(events.Input(i))] = of
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.env.Brokers...), kgo.ConsumePartitions(from), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(250*time.Millisecond), kgo.DisableClientMetrics())
	if err != nil {
		return 0, err
	}
	defer client.Close()
	for records < want {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return 0, err
		}
		records += int64(fetches.NumRecords())
	}
	return records, nil
}

// rebuild rebuilds all partitions into a temporary directory.
func (s *stage) rebuild(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	defer debug.SetGCPercent(debug.SetGCPercent(replayGCPercent))
	c := s.processor(dir, 50)
	defer c.Cache.Unref()
	s.env.report("replay")
	list, err := processor.Rebuild(ctx, processor.RebuildConfig{Config: c})
	if err != nil {
		return err
	}
	for _, r := range list {
		err = errors.Join(err, r.Err)
	}
	return err
}
