package presence

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/retry"
)

// judge reports the queued messages of a batch. It returns when the brokers have acknowledged all
// reports.
func (q *Reporter) judge(ctx context.Context, records []*kgo.Record) error {
	var list []absent
	for _, r := range records {
		if q.cfg.Planted != nil {
			q.cfg.Planted("queued " + string(r.Key))
		}
		var err error
		if list, err = q.members(ctx, r, list); err != nil {
			return err
		}
	}
	for pause := (retry.Backoff{Min: 50 * time.Millisecond, Max: 2 * time.Second}); ; pause.Wait(ctx) {
		queued, err := q.cfg.Presence.absentOf(ctx, list)
		if err == nil {
			err = q.report(ctx, queued)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		q.cfg.Logger.Warn("messages are not reported as queued yet, trying again", "messages", len(records), "err", err)
	}
}

// members appends the users for whom the message of a record may be queued.
func (q *Reporter) members(ctx context.Context, r *kgo.Record, list []absent) ([]absent, error) {
	m := &q.message
	err := q.decoder.Message(r.Value, r.Timestamp.UnixMilli(), m)
	if err == nil {
		err = events.CheckPartition(m.ChannelID, r.Partition, q.cfg.Partitions)
	}
	if err != nil {
		return list, nil //nolint:nilerr // the processor writes it to the dead letters
	}
	q.rosters.apply(m, r.Offset)
	// A message that never counts as unread in the channel never counts as queued either.
	if m.Kind != events.KindMessagePosted || m.Silent || (len(m.ThreadID) > 0 && !m.Broadcast) || m.MemberCount > q.cfg.Limit {
		return list, nil
	}
	if q.cfg.Now().Sub(r.Timestamp) > q.cfg.Within {
		q.cfg.Late.Inc()
		return list, nil
	}
	known, err := q.roster(ctx, string(m.ChannelID), r)
	if err != nil || known.large && m.MemberCount == 0 {
		return list, err
	}
	for _, user := range known.users {
		if user != string(m.SenderID) && !hides(m, user) && !q.cfg.Presence.cfg.Sockets.Has(user) {
			list = append(list, absent{user, string(m.ChannelID), string(m.MessageID)})
		}
	}
	return list, nil
}

// hides reports whether a message is hidden from a user.
func hides(m *events.Message, user string) bool {
	return slices.ContainsFunc(m.HiddenFrom, func(id []byte) bool { return string(id) == user })
}

// roster returns the members of a channel, or an empty roster if there was no answer within
// rosterPatience.
func (q *Reporter) roster(ctx context.Context, channelID string, r *kgo.Record) (*roster, error) {
	token := events.RecordID{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String()
	until := time.Now().Add(rosterPatience)
	for pause := (retry.Backoff{Min: 50 * time.Millisecond, Max: 2 * time.Second}); ; pause.Wait(ctx) {
		known, err := q.rosters.of(ctx, channelID, r.Partition, r.Offset, token)
		if err == nil {
			return known, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if q.cfg.MayAsk() != nil {
			until = time.Now().Add(rosterPatience) // the partition is not at fault: skip no message meanwhile
		} else if time.Now().After(until) {
			q.cfg.Unknown.Inc()
			q.cfg.Logger.Warn("a message is skipped and not reported as queued: the channel's owner did not return its members",
				"topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", err)
			return &roster{}, nil
		}
	}
}

// report writes the events, and waits until they are acknowledged or ctx is done.
func (q *Reporter) report(ctx context.Context, list []absent) error {
	records := make([]*kgo.Record, 0, len(list))
	now := timestamppb.New(q.cfg.Now())
	for _, a := range list {
		value, err := proto.Marshal(&eventsv1.DeliveryEvent{
			ChannelId: a.channel, UserId: a.user, OccurredAt: now,
			Kind: &eventsv1.DeliveryEvent_Queued{Queued: &eventsv1.Queued{MessageId: a.message}},
		})
		if err != nil {
			return err // cannot happen: the ids were decoded from UTF-8
		}
		records = append(records, &kgo.Record{Topic: q.cfg.Deliveries, Key: []byte(a.channel), Value: value})
	}
	producing, cancel := context.WithTimeout(ctx, produceTimeout)
	defer cancel()
	outcomes := make(chan error, len(records))
	for _, r := range records {
		q.cfg.Producer.Produce(producing, r, func(_ *kgo.Record, err error) { outcomes <- err })
	}
	var failed []error
	for range records {
		select {
		case err := <-outcomes:
			if err != nil {
				failed = append(failed, err)
			} else {
				q.cfg.Queued.Inc()
			}
		// The client waits for the answer to a sent request even if its context ends. A stop does
		// not wait.
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d events were not written: %w", len(failed), len(records), failed[0])
	}
	return nil
}
