package paths

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/traffic"
)

const (
	partitions = 4
	echoTopic  = "echo"
)

// stage is a mix in topics of its own, which have a prefix.
type stage struct {
	brokers []string
	prefix  string
	mix     traffic.Mix
	gen     *traffic.Generator
	client  *kgo.Client
	adm     *kadm.Client
}

// newStage creates the topics. Equal mixes have equal events on every stage.
func newStage(ctx context.Context, brokers []string, mix traffic.Mix) (*stage, error) {
	s := &stage{brokers: brokers, mix: mix, gen: traffic.New(mix), prefix: fmt.Sprintf("paths-%d-%s.", time.Now().UnixNano(), mix.Name)}
	var err error
	if s.client, err = s.producer(); err != nil {
		return nil, err
	}
	s.adm = kadm.NewClient(s.client)
	if err := kafkaadmin.Create(ctx, s.adm, s.specs()); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

func (s *stage) specs() []events.TopicSpec {
	return append(events.PrefixedTopicSpecs(s.prefix, partitions, 1), events.TopicSpec{Name: s.prefix + echoTopic, Partitions: partitions, Replication: 1})
}

func (s *stage) topic(name string) string { return s.prefix + name }

// inputs and cached are the topics that a processor and a cache read.
func (s *stage) inputs() (topics []string) {
	for _, name := range events.InputTopics {
		topics = append(topics, s.topic(name))
	}
	return topics
}

func (s *stage) cached() []string {
	return []string{s.topic(events.TopicUnread), s.topic(events.TopicChannels)}
}

// producer writes as a busy chat server does: batches of at most 64 KiB.
func (s *stage) producer(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(opts, kgo.SeedBrokers(s.brokers...), kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(64<<10), kgo.MaxBufferedRecords(200_000),
		kgo.ProducerLinger(5*time.Millisecond))...)
}

// close deletes the topics, also after ctx has ended.
func (s *stage) close(ctx context.Context) error {
	defer s.client.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var names []string
	for _, spec := range s.specs() {
		names = append(names, spec.Name)
	}
	answers, err := s.adm.DeleteTopics(ctx, names...)
	return errors.Join(err, answers.Error())
}

// joins writes the members of all channels.
func (s *stage) joins(ctx context.Context) error { return s.produce(ctx, s.client, s.gen.Joins) }

// write writes the next n events.
func (s *stage) write(ctx context.Context, n int) error { return s.produce(ctx, s.client, s.next(n)) }

// withhold writes the next n events in a transaction. Nodes do not see them until release commits
// it.
func (s *stage) withhold(ctx context.Context, n int) (release func() error, err error) {
	client, err := s.producer(kgo.TransactionalID(s.prefix+"withheld"), kgo.TransactionTimeout(10*time.Minute))
	if err != nil {
		return nil, err
	}
	if err = client.BeginTransaction(); err == nil {
		err = s.produce(ctx, client, s.next(n))
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

func (s *stage) next(n int) func(emit func(*traffic.Event)) {
	return func(emit func(*traffic.Event)) {
		for range n {
			e := s.gen.Next()
			emit(&e)
		}
	}
}

func (s *stage) produce(ctx context.Context, client *kgo.Client, each func(emit func(*traffic.Event))) error {
	var failed atomic.Pointer[error]
	each(func(e *traffic.Event) {
		kv := append(append(make([]byte, 0, len(e.Key)+len(e.Value)), e.Key...), e.Value...)
		client.Produce(ctx, &kgo.Record{
			Topic: s.topic(events.InputTopics[e.Input]), Partition: events.PartitionOf(e.Key, partitions), Timestamp: time.UnixMilli(e.Millis),
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
		return fmt.Errorf("produce mix %s: %w", s.mix.Name, *err)
	}
	return nil
}

// ends returns the ends of topics, without empty partitions.
func (s *stage) ends(ctx context.Context, topics []string) (offsets, error) {
	l, err := s.adm.ListEndOffsets(ctx, topics...)
	if err == nil {
		err = l.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ends of the topics %v: %w", topics, err)
	}
	out := offsets{}
	l.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			out[partition{o.Topic, o.Partition}] = o.Offset
		}
	})
	return out, nil
}
