package rebuild

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// ReshardConfig sets the source and the target of Reshard. From, To, Partitions and Dir must be
// set.
type ReshardConfig struct {
	Brokers       []string
	ClientOptions []kgo.Opt
	// From and To are the names of the topics; an empty one is that of package events.
	From, To processor.Topics
	// Partitions is the partition count of the new topics.
	Partitions  int32
	Replication int16
	// Dir is the directory for the rebuilt stores: old from the old topics, new from the new ones.
	// It must be empty.
	Dir      string
	Settings projections.Settings
	Skip     []events.RecordID
	Limit    int // how many differences are reported; 20 by default
	Logger   *slog.Logger
	// Report receives the progress of a phase: copy, old, new.
	Report func(phase string, p processor.RebuildProgress)

	buffered int // bytes; copyBuffered unless a test sets it
}

// Resharded is the result of Reshard.
type Resharded struct {
	Copied      int64        `json:"copied"`
	Bad         int64        `json:"bad"` // left out, because the fold put them into the dead letters
	Channels    int          `json:"channels"`
	Pairs       int          `json:"pairs"` // users in channels with the same numbers in both
	Stores      string       `json:"stores"`
	Differences []Difference `json:"differences"`
	Total       int          `json:"total"`
}

const (
	// copiedBytes admits the longest event, with its key and headers.
	copiedBytes = events.MaxValueBytes + 64<<10
	// copyBuffered is how many bytes of records may wait for their acknowledgements; reading waits
	// for them, with copyFetched in each broker's answer.
	copyBuffered = 64 << 20
	copyFetched  = 16 << 20
)

// Reshard writes new topics with another number of partitions from the old ones, as they are when
// it begins: each channel's records in order, with their timestamps. Then it rebuilds from both and
// compares what every user sees of every channel. Stop the producers first: the new topics do not
// have records that are written meanwhile. The old topics do not change.
//
// Reshard leaves out bad records, because one that was in a wrong partition might be in the right
// one under another partition count.
func Reshard(ctx context.Context, c ReshardConfig) (*Resharded, error) {
	if c.Limit == 0 {
		c.Limit = 20
	}
	if c.buffered == 0 {
		c.buffered = copyBuffered
	}
	c.From, c.To = named(c.From), named(c.To)
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.Brokers...), kgo.DisableClientMetrics(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchMaxBytes(copiedBytes), kgo.MaxBufferedBytes(c.buffered)}, c.ClientOptions...)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	r := &resharding{ReshardConfig: c, client: client, adm: kadm.NewClient(client), res: &Resharded{Differences: []Difference{}}}
	if err := r.create(ctx); err != nil {
		return nil, err
	}
	for in := range events.Input(events.NumInputs) {
		if err := r.copy(ctx, in); err != nil {
			return nil, err
		}
	}
	if err := r.compare(ctx); err != nil {
		return nil, err
	}
	return r.res, nil
}

// named fills in empty names.
func named(t processor.Topics) processor.Topics {
	for i := range t.Inputs {
		if t.Inputs[i] == "" {
			t.Inputs[i] = events.InputTopics[i]
		}
	}
	return t
}

type resharding struct {
	ReshardConfig
	client *kgo.Client
	adm    *kadm.Client
	old    int32 // partitions of the old topics
	res    *Resharded
}

// create makes the new topics. They must not exist with records.
func (r *resharding) create(ctx context.Context) error {
	_, _, counts, err := kafkaadmin.Identities(ctx, r.adm, r.From.Inputs[:])
	if err != nil {
		return err
	}
	r.old = counts[r.From.Inputs[0]]
	for _, name := range r.From.Inputs {
		if counts[name] != r.old {
			return fmt.Errorf("topic %s has %d partitions and topic %s has %d: the count under which its records were folded is unknown",
				r.From.Inputs[0], r.old, name, counts[name])
		}
	}
	names := map[string]string{events.TopicUnread: r.To.Unread, events.TopicChannels: r.To.Channels, events.TopicReceipts: r.To.Receipts, events.TopicDeadLetters: r.To.DeadLetters}
	for i, name := range events.InputTopics {
		names[name] = r.To.Inputs[i]
	}
	specs := events.TopicSpecs(r.Partitions, r.Replication)
	kept := specs[:0]
	for _, s := range specs {
		if to := names[s.Name]; to != "" {
			s.Name = to
			kept = append(kept, s)
		}
	}
	if _, err := kafkaadmin.Ensure(ctx, r.adm, kept); err != nil {
		return err
	}
	ends, err := r.adm.ListEndOffsets(ctx, r.To.Inputs[:]...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return err
	}
	ends.Each(func(o kadm.ListedOffset) {
		switch {
		case o.Offset > 0 && err == nil:
			err = fmt.Errorf("topic %s has records already: name new topics (an interrupted reshard begins anew: delete "+
				"the new topics)", o.Topic)
		case o.Partition >= r.Partitions && err == nil:
			err = fmt.Errorf("topic %s exists and has more than %d partitions: name new topics", o.Topic, r.Partitions)
		}
	})
	return err
}
