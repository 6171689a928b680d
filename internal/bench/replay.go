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

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/load"
	"github.com/tidemark/tidemark/processor"
)

// replayEvents is how many events are rebuilt from on the embedded broker, and replayKafkaEvents on brokers of their own:
// enough of them that opening and closing the stores, and half a million new pairs, are a small part.
const (
	replayEvents      = 2_000_000
	replayKafkaEvents = 20_000_000
)

// replayGCPercent is the pace of the collector in `tidemark replay`, which no memory limit changes: Go's own. What is
// fetched and decoded is garbage soon, and memory that is used again was not asked of the machine anew.
const replayGCPercent = 100

// kafkaName names the brokers that are a process of their own.
const kafkaName = "Kafka"

// Replay measures how fast stores are rebuilt from the topics, and beside it a bare consume of the same topics: on the
// embedded broker, which runs in this process, and on env's brokers if it has any.
func Replay(ctx context.Context, env Env) ([]Result, error) {
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

func replayOn(ctx context.Context, env Env, name string, n int) (out []Result, err error) {
	return out, on(ctx, env, load.Mixes["B"], func(s *stage) error {
		if err := s.write(ctx, n); err != nil {
			return err
		}
		var servers []string
		if name == kafkaName {
			servers = env.Brokers[:1]
		}
		m, err := newMeter(servers...)
		if err != nil {
			return err
		}
		m.start()
		records, err := s.consume(ctx)
		if err != nil {
			return err
		}
		bare := m.stop("bare consume, "+name, int(records))
		m.start()
		if err := s.rebuild(ctx); err != nil {
			return err
		}
		replay := m.stop("replay, "+name, int(records))
		if name == kafkaName {
			replay.Goals = []Goal{atLeast("of a bare consume", replay.Rate/bare.Rate, 0.5)}
		} else {
			replay.Goals = []Goal{atLeast("events/s", replay.Rate, 600_000)}
			replay.Note += fmt.Sprintf("; %.2f of a bare consume", replay.Rate/bare.Rate)
		}
		out = append(out, bare, replay)
		return nil
	})
}

// consume reads the inputs from start to end and does nothing with them.
func (s *stage) consume(ctx context.Context) (records int64, err error) {
	ends, err := s.ends(ctx)
	if err != nil {
		return 0, err
	}
	s.env.say("bare consume")
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

// rebuild rebuilds all partitions into a directory that is removed again.
func (s *stage) rebuild(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	defer debug.SetGCPercent(debug.SetGCPercent(replayGCPercent))
	c := s.processor(dir, 50)
	defer c.Cache.Unref()
	s.env.say("replay")
	list, err := processor.Rebuild(ctx, processor.RebuildConfig{Config: c})
	if err != nil {
		return err
	}
	for _, r := range list {
		err = errors.Join(err, r.Err)
	}
	return err
}
