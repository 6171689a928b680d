package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/skips"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/retry"
	"github.com/tidemark/tidemark/internal/trace"
)

// feed reads the topics until ctx is done, in sessions. Each session begins at the ends of the
// topics, and with a fresh inbox for every connection, which includes everything between two
// sessions.
func (g *Gateway) feed(ctx context.Context) error {
	pause := retry.Backoff{Min: 50 * time.Millisecond, Max: 2 * time.Second}
	for {
		began := time.Now()
		err := guard.Err("the feed", func() error { return g.session(ctx) })
		g.setFeed(err)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // ctx ended
		}
		g.cfg.Logger.Warn("the feed broke off and starts again", guard.Attrs(err)...)
		if time.Since(began) > time.Minute {
			pause.Reset()
		}
		if !pause.Wait(ctx) {
			return nil
		}
	}
}

// feedTopics returns the topics that the feed reads.
func (g *Gateway) feedTopics() []string {
	t := &g.cfg.Topics
	return []string{t.Unread, t.Channels, t.Receipts, t.Messages}
}

func (g *Gateway) session(ctx context.Context) error {
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(g.cfg.Brokers...), kgo.ClientID("tidemark-gateway"),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), // a gap is an error, which ends the session
		kgo.FetchMaxWait(time.Second), kgo.FetchMinBytes(1), kgo.DisableClientMetrics(),
	}, g.cfg.ClientOptions...)...)
	if err != nil {
		return fmt.Errorf("client of Kafka: %w", err)
	}
	defer cl.Close()
	from, err := kafkaadmin.FromEnds(ctx, cl, g.feedTopics())
	if err != nil {
		return err
	}
	cl.AddConsumePartitions(from)
	g.begin(kafkaadmin.Offsets(from[g.cfg.Topics.Messages]))
	g.setFeed(nil)

	d := decoder{skipped: skips.New(g.cfg.Logger, g.cfg.Now)}
	defer d.skipped.End()
	for {
		fetches := d.skipped.Poll(ctx, func(ctx context.Context) kgo.Fetches { return cl.PollRecords(ctx, 10_000) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var broken error
		fetches.EachError(func(topic string, p int32, err error) {
			// A batch of messages that is too large to decompress has stopped its owner. The
			// gateway waits for nothing there.
			if broken == nil && !skips.Woken(topic, err) && !inflate.Deferred(err) && (topic != g.cfg.Topics.Messages || !inflate.PassOver(cl, err, g.cfg.Logger)) {
				broken = fmt.Errorf("topic %s, partition %d: %w", topic, p, inflate.InWords(err, inflate.Limit(cl)))
			}
		})
		if broken != nil {
			return broken
		}
		g.take(fetches, &d)
		g.hubs.kick()
	}
}

// begin begins a session that reads chat.messages from these offsets on. It drops messages of an
// earlier session that still wait for a seq, and starts a fresh inbox for every connection.
func (g *Gateway) begin(seen map[int32]int64) {
	for p := range g.seen {
		g.seen[p].Store(seen[int32(p)])
	}
	for _, h := range g.hubs.list {
		h.mu.With(func() {
			h.begun = seen
			g.plant("begin")
			for _, ch := range h.channels {
				ch.Restart()
			}
			for _, u := range h.users {
				u.unconfirm()
				u.reload()
			}
		})
		h.kick()
	}
}

// decoder is memory that is reused for every record.
type decoder struct {
	events  events.Decoder
	message events.Message
	delta   events.UnreadDelta
	record  events.ChannelRecord
	skipped *skips.Log
	traced  *trace.Path // of what is being taken; nil: its traces are not followed
}

// take applies fetched records. Deltas come before channel records, so that a client seldom gets a
// message before the count that includes it.
func (g *Gateway) take(fetches kgo.Fetches, d *decoder) {
	t := &g.cfg.Topics
	d.traced = trace.NewPath(g.cfg.Trace)
	for _, step := range []struct {
		topic string
		apply func(*kgo.Record, *decoder) error
	}{{t.Unread, g.takeDelta}, {t.Messages, g.takeMessage}, {t.Channels, g.takeChannel}, {t.Receipts, g.takeReceipts}} {
		fetches.EachTopic(func(ft kgo.FetchTopic) {
			if ft.Topic != step.topic {
				return
			}
			ft.EachRecord(func(r *kgo.Record) {
				if err := step.apply(r, d); err != nil {
					g.metrics.bad.Inc()
					d.skipped.Add(r, err)
				}
			})
		})
	}
}

// takeDelta decodes the deltas of connected users only.
func (g *Gateway) takeDelta(r *kgo.Record, d *decoder) error {
	user, _, _, ok := events.SplitUnreadKey(r.Key)
	if !ok {
		return errors.New("its key does not consist of user, channel and thread")
	}
	if r.Value == nil {
		return nil // a tombstone, for compaction; a delta has announced the removal
	}
	id := string(user)
	if !g.hubs.Has(id) {
		return nil
	}
	if err := events.DecodeUnreadDelta(r.Value, &d.delta); err != nil {
		return err
	}
	h := g.hubs.of(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.traced = d.traced.At(r)
	if u := h.users[id]; u != nil { // they may have left meanwhile
		g.applyDelta(u, &d.delta)
	}
	trace.Observe(g.metrics.behind, max(0, g.cfg.Now().Sub(r.Timestamp).Seconds()), h.traced.ID())
	h.traced = nil
	return nil
}

func (g *Gateway) takeChannel(r *kgo.Record, d *decoder) error {
	loading := g.loads.Load() > 0
	if r.Value == nil || !loading && g.hubs.interest.Of(r.Key) == 0 {
		return nil
	}
	if err := events.DecodeChannelRecord(r.Value, &d.record); err != nil {
		return err
	}
	if loading { // before interest is read, see there
		g.reached[events.PartitionOf(r.Key, g.cfg.Partitions)].Note(d.record.Stamp.M)
	}
	g.hubs.each(g.hubs.interest.Of(r.Key), func(h *hub) {
		h.traced = d.traced.At(r)
		g.applyChannel(h, &d.record)
		h.traced = nil
	})
	return nil
}

// takeMessage records how far the feed has read chat.messages, even if it cannot decode the record.
// The processor writes bad records to the dead letters; the gateway skips them.
func (g *Gateway) takeMessage(r *kgo.Record, d *decoder) error {
	if int(r.Partition) >= len(g.seen) {
		return nil // a partition that was added after the gateway started
	}
	g.seen[r.Partition].Store(r.Offset + 1) // before interest is read, see there
	err := d.events.Message(r.Value, r.Timestamp.UnixMilli(), &d.message)
	if err == nil {
		err = events.CheckPartition(d.message.ChannelID, r.Partition, g.cfg.Partitions)
	}
	if err != nil {
		return nil //nolint:nilerr // the processor writes it to the dead letters
	}
	g.logTimes[r.Partition].Note(d.message.OccurredAt)
	g.applyMessage(&d.message, r.Offset)
	return nil
}

func (g *Gateway) takeReceipts(r *kgo.Record, _ *decoder) error {
	concerned := g.hubs.interest.Of(r.Key)
	if concerned == 0 {
		return nil
	}
	var record eventsv1.ReceiptsRecord
	if err := proto.Unmarshal(r.Value, &record); err != nil {
		return err
	}
	g.hubs.each(concerned, func(h *hub) { g.applyReceipts(h, &record) })
	return nil
}
