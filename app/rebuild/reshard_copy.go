package rebuild

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/processor"
)

// copy writes one new topic from the old one, up to its current end.
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
	from, left := map[int32]kgo.Offset{}, kafkaadmin.Left{}
	var total int64
	ends.Each(func(o kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, o.Partition)
		if start.Offset > 0 && err == nil {
			err = fmt.Errorf("%s/%d: the log begins at offset %d: earlier records are gone, and a new topic could not be folded to the "+
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

// fetched returns the first error of a poll that is not temporary.
func fetched(fetches kgo.Fetches, batch int) error {
	for _, e := range fetches.Errors() {
		if !inflate.Deferred(e.Err) {
			return inflate.InWords(e.Err, batch)
		}
	}
	return nil
}

// pump copies the records of reader until none is left.
func (r *resharding) pump(ctx context.Context, in events.Input, reader *kgo.Client, left kafkaadmin.Left, total int64) error {
	var failed atomic.Pointer[error]
	var d events.Decoder
	var done int64
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := errors.Join(ctx.Err(), fetched(fetches, inflate.Limit(reader))); err != nil {
			return fmt.Errorf("reading %s: %w", r.From.Inputs[in], err)
		}
		err := left.Take(fetches, func(rec *kgo.Record) error {
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
				return nil //nolint:nilerr // bad records are counted and left out
			}
			r.res.Copied++
			// Records of one partition are written in the order of the calls, and a channel is in
			// one partition of both topics.
			r.client.Produce(ctx, &kgo.Record{Topic: r.To.Inputs[in], Partition: events.PartitionOf(channel, r.Partitions),
				Key: rec.Key, Value: rec.Value, Headers: rec.Headers, Timestamp: rec.Timestamp}, func(_ *kgo.Record, err error) {
				if err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			})
			return nil
		})
		if err != nil {
			return err
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

// channelOf decodes a record like the fold.
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
