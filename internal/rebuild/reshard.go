package rebuild

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// ReshardConfig says what Reshard copies and where to. From, To, Partitions and Dir must be set.
type ReshardConfig struct {
	Brokers       []string
	ClientOptions []kgo.Opt
	// From and To are the names of the topics; an empty one is that of package events.
	From, To processor.Topics
	// Partitions is how many the new topics are to have.
	Partitions  int32
	Replication int16
	// Dir is where the stores are rebuilt: old from the old topics, new from the new ones. It must
	// be empty.
	Dir      string
	Settings projections.Settings
	Skip     []events.RecordID
	Limit    int // how many differences are told; 20 by default
	Logger   *slog.Logger
	// Report gets the progress of a phase: copy, old, new.
	Report func(phase string, p processor.RebuildProgress)

	buffered int // bytes; copyBuffered unless a test sets it
}

// Resharded is what Reshard did.
type Resharded struct {
	Copied      int64        `json:"copied"`
	Bad         int64        `json:"bad"` // left out: they went to the dead letters when they were folded
	Channels    int          `json:"channels"`
	Pairs       int          `json:"pairs"` // users in channels, each seen with the same numbers in both
	Stores      string       `json:"stores"`
	Differences []Difference `json:"differences"`
	Total       int          `json:"total"`
}

const (
	// copiedBytes lets the longest event through, with its key and headers.
	copiedBytes = events.MaxValueBytes + 64<<10
	// copyBuffered is how many bytes of records wait for their acknowledgements at a time; reading
	// waits for them, with copyFetched in each broker's answer.
	copyBuffered = 64 << 20
	copyFetched  = 16 << 20
)

// Reshard writes new topics with another number of partitions from the old ones, as they are when
// it begins: each channel's records in their order, with their timestamps. Then it rebuilds from
// both and compares what every user sees of every channel. Producers must be stopped: what they
// write meanwhile is not in the new topics. The old ones stay as they are.
//
// Records that are bad are left out: under another partition count one that was in the wrong
// partition might be in the right one.
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

// named fills in names that are empty.
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

// create makes the new topics, which must not be there with anything in them.
func (r *resharding) create(ctx context.Context) error {
	_, _, counts, err := kafkaadmin.Identities(ctx, r.adm, r.From.Inputs[:])
	if err != nil {
		return err
	}
	r.old = counts[r.From.Inputs[0]]
	for _, name := range r.From.Inputs {
		if counts[name] != r.old {
			return fmt.Errorf("topic %s has %d partitions and topic %s has %d: which of them its records were folded under is not known",
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
			err = fmt.Errorf("topic %s has records already: name topics that are not there (an interrupted reshard begins anew: delete "+
				"the new topics)", o.Topic)
		case o.Partition >= r.Partitions && err == nil:
			err = fmt.Errorf("topic %s is there and has more than %d partitions: name topics that are not there", o.Topic, r.Partitions)
		}
	})
	return err
}

// copy writes one new topic from the old one, up to where that ends now.
func (r *resharding) copy(ctx context.Context, in events.Input) error {
	topic := r.From.Inputs[in]
	starts, err := r.adm.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	ends, endErr := r.adm.ListCommittedOffsets(ctx, topic)
	if endErr == nil {
		endErr = ends.Error()
	}
	if err := errors.Join(err, endErr); err != nil {
		return err
	}
	from, left := map[int32]kgo.Offset{}, map[int32]int64{}
	var total int64
	ends.Each(func(o kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, o.Partition)
		if start.Offset > 0 && err == nil {
			err = fmt.Errorf("%s/%d: the log begins at offset %d: what came before it is gone, and a new topic could not be folded to the "+
				"same numbers", topic, o.Partition, start.Offset)
		}
		if o.Offset > start.Offset {
			from[o.Partition], left[o.Partition] = kgo.NewOffset().At(start.Offset), o.Offset
			total += o.Offset - start.Offset
		}
	})
	if err != nil || len(left) == 0 {
		return err
	}
	reader, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(r.Brokers...), kgo.DisableClientMetrics(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxBytes(copyFetched), kgo.FetchMaxPartitionBytes(copyFetched / 4),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords()}, r.ClientOptions...)...)
	if err != nil {
		return err
	}
	defer reader.Close()
	return r.pump(ctx, in, reader, left, total)
}

// fetched is the first error of what was polled that does not pass by itself.
func fetched(fetches kgo.Fetches, batch int) error {
	for _, e := range fetches.Errors() {
		if !inflate.Deferred(e.Err) {
			return inflate.InWords(e.Err, batch)
		}
	}
	return nil
}

// pump copies what reader fetches until nothing is left.
func (r *resharding) pump(ctx context.Context, in events.Input, reader *kgo.Client, left map[int32]int64, total int64) error {
	var failed atomic.Pointer[error]
	var d events.Decoder
	var done int64
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := errors.Join(ctx.Err(), fetched(fetches, inflate.Limit(reader))); err != nil {
			return fmt.Errorf("reading %s: %w", r.From.Inputs[in], err)
		}
		for it := fetches.RecordIter(); !it.Done(); {
			rec := it.Next()
			end, wanted := left[rec.Partition]
			if !wanted {
				continue
			}
			if rec.Offset+1 >= end {
				delete(left, rec.Partition)
			}
			if rec.Offset >= end || rec.Attrs.IsControl() {
				continue
			}
			done++
			channel, err := channelOf(&d, in, rec)
			if err == nil {
				err = events.CheckPartition(channel, rec.Partition, r.old)
			}
			if errors.Is(err, events.ErrNewerVersion) {
				return fmt.Errorf("%s/%d at offset %d: %w", rec.Topic, rec.Partition, rec.Offset, err)
			}
			if err != nil || r.skipped(rec) {
				r.res.Bad++
				continue
			}
			r.res.Copied++
			// Records of one partition are written in the order in which they are handed over, and
			// a channel is in one partition of both.
			r.client.Produce(ctx, &kgo.Record{Topic: r.To.Inputs[in], Partition: events.PartitionOf(channel, r.Partitions),
				Key: rec.Key, Value: rec.Value, Headers: rec.Headers, Timestamp: rec.Timestamp}, func(_ *kgo.Record, err error) {
				if err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			})
		}
		if err := failed.Load(); err != nil {
			break
		}
		if r.Report != nil {
			r.Report("copy "+r.From.Inputs[in], processor.RebuildProgress{Partitions: 1, Done: done, Total: total})
		}
	}
	err := r.client.Flush(ctx)
	if f := failed.Load(); f != nil {
		err = *f
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w; delete the new topics and begin anew", r.To.Inputs[in], err)
	}
	return nil
}

func (r *resharding) skipped(rec *kgo.Record) bool {
	for _, s := range r.Skip {
		if s == (events.RecordID{Topic: rec.Topic, Partition: rec.Partition, Offset: rec.Offset}) {
			return true
		}
	}
	return false
}

// channelOf decodes a record as the fold does.
func channelOf(d *events.Decoder, in events.Input, rec *kgo.Record) ([]byte, error) {
	ms := rec.Timestamp.UnixMilli()
	switch in {
	case events.Messages:
		var m events.Message
		err := d.Message(rec.Value, ms, &m)
		return m.ChannelID, err
	case events.Reads:
		var m events.Read
		err := d.Read(rec.Value, ms, &m)
		return m.ChannelID, err
	default:
		var m events.Delivery
		err := d.Delivery(rec.Value, ms, &m)
		return m.ChannelID, err
	}
}
