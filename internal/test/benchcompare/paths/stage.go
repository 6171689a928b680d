package paths

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/feed"
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
	if s.client, err = s.feed().Producer(); err != nil {
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
func (s *stage) joins(ctx context.Context) error { return s.produce(ctx, s.gen.Joins) }

// write writes the next n events.
func (s *stage) write(ctx context.Context, n int) error { return s.produce(ctx, feed.Next(s.gen, n)) }

// withhold writes the next n events in a transaction. Nodes do not see them until release commits
// it.
func (s *stage) withhold(ctx context.Context, n int) (release func() error, err error) {
	return s.feed().Withhold(ctx, feed.Next(s.gen, n))
}

func (s *stage) produce(ctx context.Context, all feed.Events) error {
	return s.feed().Write(ctx, s.client, all)
}

func (s *stage) feed() feed.Feed {
	return feed.Feed{Brokers: s.brokers, Mix: s.mix, Prefix: s.prefix, Partitions: partitions}
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
