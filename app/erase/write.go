package erase

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/traffic"
)

// write produces the events of all channels, and returns once all are acknowledged.
func (r *run) write(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu    sync.Mutex
		done  int
		total = r.res.Left + r.res.Erased
		last  = map[string]map[int32]int64{}
	)
	clear(r.erased)
	now := timestamppb.New(r.Now())
	send := func(c *Channel, in events.Input, m proto.Message, to *string) error {
		value, err := proto.Marshal(m)
		if err != nil {
			return fmt.Errorf("channel %q: %w", c.ChannelID, err)
		}
		// Produce blocks while the client's buffer is full.
		r.Kafka.Produce(ctx, &kgo.Record{Topic: r.Topics.Inputs[in], Key: []byte(c.ChannelID), Value: value}, func(rec *kgo.Record, err error) {
			if err != nil {
				cancel(fmt.Errorf("channel %q: not written to %s: %w", c.ChannelID, r.Topics.Inputs[in], err))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			*to = token(rec.Topic, rec.Partition, rec.Offset)
			if last[rec.Topic] == nil {
				last[rec.Topic] = map[int32]int64{}
			}
			last[rec.Topic][rec.Partition] = max(last[rec.Topic][rec.Partition], rec.Offset)
			if in == events.Reads {
				r.erased[rec.Partition] = max(r.erased[rec.Partition], rec.Offset)
			}
			done++
			r.Report("writing", done, total)
		})
		return nil
	}
	for i := range r.res.Channels {
		c := &r.res.Channels[i]
		if c.Done {
			continue
		}
		if c.Member {
			left := traffic.Message(c.ChannelID, &eventsv1.MembersLeft{UserIds: []string{r.User}})
			left.OccurredAt = now
			if err := send(c, events.Messages, left, &c.LeftAt); err != nil {
				return err
			}
		}
		erased := traffic.Read(c.ChannelID, r.User, &eventsv1.UserErased{})
		erased.OccurredAt = now
		if err := send(c, events.Reads, erased, &c.ErasedAt); err != nil {
			return err
		}
	}
	// Flush fails only with ctx, and its cause is the reason.
	if err := r.Kafka.Flush(ctx); err != nil && context.Cause(ctx) == nil {
		return fmt.Errorf("writing: %w", err)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for topic, partitions := range last {
		for p, offset := range partitions {
			r.res.After = append(r.res.After, token(topic, p, offset))
		}
	}
	slices.Sort(r.res.After)
	return nil
}

// awaitFold waits until the written events are folded, and checks that nothing of the user is left.
func (r *run) awaitFold(ctx context.Context) error {
	r.Report("waiting for the fold", 0, 0)
	all, err := r.list(ctx, r.res.After)
	if err != nil {
		return fmt.Errorf("the events are written, but whether they are folded is unknown: %w", err)
	}
	meant := map[string]bool{}
	for _, c := range r.res.Channels {
		meant[c.ChannelID] = true
	}
	var back []string
	for _, c := range all {
		if (c.Member || !c.Erased) && (meant[c.ChannelId] || len(r.Channels) == 0) {
			back = append(back, fmt.Sprintf("%q", c.ChannelId))
		}
	}
	if len(back) > 0 {
		return fmt.Errorf("the user was active in %d channels in the meantime, %s among them: make sure that they cannot write any "+
			"more, and run this again",
			len(back), back[0])
	}
	return nil
}
