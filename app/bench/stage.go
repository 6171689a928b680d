package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/feed"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// Env has the brokers and the Redis of the benches of the whole path. The benches delete the topics
// that they create, and empty Redis.
type Env struct {
	Brokers  []string
	Redis    string
	Progress io.Writer
	// Swarm is a program, with its arguments, that calls swarm.Run with its standard input and
	// output.
	Swarm []string

	partitions int32 // of the topics; 0: livePartitions
	inProcess  bool  // brokers and Redis are embedded: their CPU time is part of this process's
}

func (e Env) report(format string, args ...any) {
	if e.Progress != nil {
		fmt.Fprintf(e.Progress, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
	}
}

const livePartitions = 4

// stage is a mix in its own topics. It begins with the joins. It withholds the measured events in
// an open transaction until everything else is idle.
type stage struct {
	env    Env
	mix    traffic.Mix
	prefix string
	client *kgo.Client
	adm    *kadm.Client
	gen    *traffic.Generator
	tune   func(*processor.Config) // nil, or changes the processors of the stage
	others int                     // members of the group beside the one of a line
	// members has the members of each channel, for the sorted sets.
	members map[string][]string
}

func newStage(ctx context.Context, env Env, mix traffic.Mix) (*stage, error) {
	s := &stage{
		env: env, mix: mix, gen: traffic.New(mix), members: map[string][]string{},
		prefix: fmt.Sprintf("bench-%d-%s-", time.Now().UnixNano(), mix.Name),
	}
	var err error
	if s.client, err = s.feed().Producer(); err != nil {
		return nil, err
	}
	s.adm = kadm.NewClient(s.client)
	forever := map[string]*string{"retention.ms": kadm.StringPtr("-1")} // the events have times in the past
	for _, t := range s.topics() {
		if _, err := s.adm.CreateTopic(ctx, s.partitions(), 1, forever, t); err != nil {
			return nil, errors.Join(fmt.Errorf("create topic %s: %w", t, err), s.close(ctx))
		}
	}
	if err := s.created(ctx); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	if err := s.produce(ctx, s.client, s.gen.Joins); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

// created waits until the brokers know the topics, which may be some time after they have
// acknowledged them.
func (s *stage) created(ctx context.Context) error {
	for {
		all, err := s.adm.ListTopics(ctx, s.topics()...)
		if err != nil || all.Error() == nil {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), all.Error())
		}
	}
}

func (s *stage) input(i events.Input) string { return s.prefix + events.InputTopics[i] }
func (s *stage) output(name string) string   { return s.prefix + "out-" + name }

func (s *stage) partitions() int32 { return cmp.Or(s.env.partitions, livePartitions) }

func (s *stage) topics() []string {
	var out []string
	for i := range events.InputTopics {
		out = append(out, s.input(events.Input(i)))
	}
	for _, t := range []string{events.TopicUnread, events.TopicChannels, events.TopicReceipts, events.TopicDeadLetters, echoTopic} {
		out = append(out, s.output(t))
	}
	return out
}

// close deletes the topics, also after ctx has ended.
func (s *stage) close(ctx context.Context) error {
	defer s.client.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	answers, err := s.adm.DeleteTopics(ctx, s.topics()...)
	return errors.Join(err, answers.Error())
}

// write produces the next n events.
func (s *stage) write(ctx context.Context, n int) error {
	s.env.report("writing %d events of mix %s", n, s.mix.Name)
	return s.produce(ctx, s.client, feed.Next(s.gen, n))
}

// withhold produces the next n events in a transaction, so that only consumers of uncommitted
// records see them. release commits it.
func (s *stage) withhold(ctx context.Context, n int) (release func() error, err error) {
	s.env.report("writing %d events of mix %s to measure with", n, s.mix.Name)
	return s.feed().Withhold(ctx, feed.Next(s.gen, n))
}

func (s *stage) produce(ctx context.Context, client *kgo.Client, all feed.Events) error {
	return s.feed().Write(ctx, client, all)
}

func (s *stage) feed() feed.Feed {
	return feed.Feed{Brokers: s.env.Brokers, Mix: s.mix, Prefix: s.prefix, Partitions: s.partitions()}
}

// ends returns the end offsets of the input topics, by partition.
func (s *stage) ends(ctx context.Context) (map[int32]projections.Position, error) {
	out := map[int32]projections.Position{}
	for i := range events.InputTopics {
		l, err := s.adm.ListEndOffsets(ctx, s.input(events.Input(i)))
		if err == nil {
			err = l.Error()
		}
		if err != nil {
			return nil, err
		}
		l.Each(func(o kadm.ListedOffset) {
			p := out[o.Partition]
			p[i] = o.Offset
			out[o.Partition] = p
		})
	}
	return out, nil
}

// outputs returns how many records were published so far.
func (s *stage) outputs(ctx context.Context) (n int64, err error) {
	ends, err := s.adm.ListEndOffsets(ctx, s.output(events.TopicUnread), s.output(events.TopicChannels), s.output(events.TopicReceipts))
	if err == nil {
		err = ends.Error()
	}
	ends.Each(func(o kadm.ListedOffset) { n += max(o.Offset, 0) })
	return n, err
}

// processor returns the configuration of a processor on this stage with its stores in dir. The
// caller must release its block cache.
func (s *stage) processor(dir string, fanout uint32) processor.Config {
	settings := projections.DefaultSettings()
	settings.FanoutLimit = fanout
	c := processor.Config{
		Brokers: s.env.Brokers, Group: s.prefix + "group", DataDir: dir,
		Settings: settings, MemTableSize: 16 << 20, Cache: pebble.NewCache(256 << 20),
	}
	for i := range events.InputTopics {
		c.Topics.Inputs[i] = s.input(events.Input(i))
	}
	c.Topics.Unread, c.Topics.Channels = s.output(events.TopicUnread), s.output(events.TopicChannels)
	c.Topics.Receipts, c.Topics.DeadLetters = s.output(events.TopicReceipts), s.output(events.TopicDeadLetters)
	if s.tune != nil {
		s.tune(&c)
	}
	return c
}
