package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// feed reads the topics until ctx is done, in sessions. Each begins at the ends of the topics, and with fresh inboxes for
// everybody who is connected: what lay between two sessions is in them.
func (g *Gateway) feed(ctx context.Context) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		began := time.Now()
		err := g.session(ctx)
		g.setFeed(err)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was told to end
		}
		g.cfg.Logger.Warn("the feed broke off and begins anew", "err", err)
		if time.Since(began) > time.Minute {
			pause = 50 * time.Millisecond
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// topics are those of the feed.
func (g *Gateway) feedTopics() []string {
	t := &g.cfg.Topics
	return []string{t.Unread, t.Channels, t.Receipts, t.Messages}
}

func (g *Gateway) session(ctx context.Context) error {
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(g.cfg.Brokers...), kgo.ClientID("tidemark-gateway"),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), // a gap is an error: then everybody is told anew
		kgo.FetchMaxWait(time.Second), kgo.FetchMinBytes(1), kgo.DisableClientMetrics(),
	}, g.cfg.ClientOptions...)...)
	if err != nil {
		return fmt.Errorf("client of Kafka: %w", err)
	}
	defer cl.Close()
	from, seen, err := g.ends(ctx, cl)
	if err != nil {
		return err
	}
	cl.AddConsumePartitions(from)

	g.hub.mu.Lock()
	g.seen, g.begun = seen, maps.Clone(seen)
	for _, ch := range g.hub.channels {
		*ch = channel{id: ch.id, members: ch.members, record: ch.record, latest: ch.latest, read: ch.read, delivered: ch.delivered}
	}
	for _, u := range g.hub.users {
		u.doubt()
		g.reload(u)
	}
	g.hub.mu.Unlock()
	g.hub.kick()
	g.setFeed(nil)

	var d decoder
	for {
		fetches := cl.PollRecords(ctx, 10_000)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var broken error
		fetches.EachError(func(topic string, p int32, err error) {
			if broken == nil {
				broken = fmt.Errorf("topic %s, partition %d: %w", topic, p, err)
			}
		})
		if broken != nil {
			return broken
		}
		g.take(fetches, &d)
		g.hub.kick()
	}
}

// ends lists the ends of all topics, and for chat.messages also as the offsets from which messages are seen.
func (g *Gateway) ends(ctx context.Context, cl *kgo.Client) (map[string]map[int32]kgo.Offset, map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, g.feedTopics()...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("ends of the topics %v: %w", g.feedTopics(), err)
	}
	from, seen := map[string]map[int32]kgo.Offset{}, map[int32]int64{}
	for _, topic := range g.feedTopics() {
		if len(ends[topic]) == 0 {
			return nil, nil, fmt.Errorf("topic %q has no partitions: `tidemark topics create` makes them", topic)
		}
	}
	ends.Each(func(o kadm.ListedOffset) {
		if from[o.Topic] == nil {
			from[o.Topic] = map[int32]kgo.Offset{}
		}
		from[o.Topic][o.Partition] = kgo.NewOffset().At(o.Offset)
		if o.Topic == g.cfg.Topics.Messages {
			seen[o.Partition] = o.Offset
		}
	})
	return from, seen, nil
}

// decoder is memory that decoding uses again and again.
type decoder struct {
	events  events.Decoder
	message events.Message
	delta   events.UnreadDelta
	record  events.ChannelRecord
}

// take applies what was fetched. Users' deltas come before channels' records: so a message seldom waits for a member's
// count to say that it is unread.
func (g *Gateway) take(fetches kgo.Fetches, d *decoder) {
	t := &g.cfg.Topics
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
					g.cfg.Logger.Warn("a record was passed over", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", err)
				}
			})
		})
	}
}

// takeDelta decodes only what is about somebody who is connected.
func (g *Gateway) takeDelta(r *kgo.Record, d *decoder) error {
	user, _, _, ok := events.SplitUnreadKey(r.Key)
	if !ok {
		return errors.New("its key is not user, channel and thread")
	}
	if r.Value == nil {
		return nil // compaction removes what no reader needs any more; the removal itself was a delta
	}
	g.hub.mu.Lock()
	defer g.hub.mu.Unlock()
	u := g.hub.users[string(user)]
	if u == nil {
		return nil
	}
	if err := events.DecodeUnreadDelta(r.Value, &d.delta); err != nil {
		return err
	}
	g.applyDelta(u, &d.delta)
	g.metrics.latency(r.Timestamp, g.cfg.Now())
	return nil
}

func (g *Gateway) takeChannel(r *kgo.Record, d *decoder) error {
	g.hub.mu.Lock()
	defer g.hub.mu.Unlock()
	if r.Value == nil || g.hub.channels[string(r.Key)] == nil {
		return nil
	}
	if err := events.DecodeChannelRecord(r.Value, &d.record); err != nil {
		return err
	}
	g.applyChannel(&d.record)
	return nil
}

// takeMessage notes how far the timeline was seen, whatever the record says: what is bad goes to the dead letters, which
// is not for a gateway to do.
func (g *Gateway) takeMessage(r *kgo.Record, d *decoder) error {
	g.hub.mu.Lock()
	defer g.hub.mu.Unlock()
	g.seen[r.Partition] = r.Offset + 1
	if err := d.events.Message(r.Value, r.Timestamp.UnixMilli(), &d.message); err != nil {
		return nil
	}
	if events.CheckPartition(d.message.ChannelID, r.Partition, g.cfg.Partitions) != nil {
		return nil
	}
	g.applyMessage(&d.message, r.Offset)
	return nil
}

func (g *Gateway) takeReceipts(r *kgo.Record, _ *decoder) error {
	g.hub.mu.Lock()
	defer g.hub.mu.Unlock()
	if g.hub.channels[string(r.Key)] == nil {
		return nil
	}
	var record eventsv1.ReceiptsRecord
	if err := proto.Unmarshal(r.Value, &record); err != nil {
		return err
	}
	g.applyReceipts(&record)
	return nil
}
