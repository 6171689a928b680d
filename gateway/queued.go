package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// queuer reports messages as queued for members of small channels who have no socket anywhere (DESIGN §10).
//
// Who reports, if several gateways run: the one that Kafka assigned the message's partition to, in the group of all
// gateways. It goes through chat.messages beside the feed, from the group's committed offset on; asks who the members
// are and which of them have a ws: key; writes a Queued for each who has none; and commits when these are acknowledged.
// So a message is judged by one gateway, and once more if that one dies or loses the partition before it has committed:
// a Queued that comes twice says nothing new to the fold. While Redis cannot be asked nothing is judged, and nothing is
// passed over. A gateway that died keeps its users present for PresenceTTL, during which nothing is queued for them.
type queuer struct {
	g       *Gateway
	rosters *rosters
	moved   atomic.Bool // partitions were assigned or taken away since the last batch
	decoder decoder
	away    []string // memory of members
}

const (
	// queuerBatch bounds the records of chat.messages that are judged at once.
	queuerBatch = 500
	// rosterPatience is how long the members of a channel are asked for, before a message is passed over: one partition
	// that nobody serves must not hold up all others.
	rosterPatience = 30 * time.Second
)

// absent is a message that is to be reported as queued for a user, unless he has a socket.
type absent struct{ user, channel, message string }

// run judges messages until ctx is done, in sessions.
func (q *queuer) run(ctx context.Context) {
	for pause := 100 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
		began := time.Now()
		if err := q.session(ctx); err != nil && ctx.Err() == nil {
			q.g.cfg.Logger.Warn("reporting queued messages broke off; it goes on from what was committed", "group", q.g.cfg.Group, "err", err)
		}
		if time.Since(began) > time.Minute {
			pause = 100 * time.Millisecond
		}
		sleep(ctx, pause)
	}
}

func (q *queuer) session(ctx context.Context) error {
	c := &q.g.cfg
	changed := func(context.Context, *kgo.Client, map[string][]int32) { q.moved.Store(true) }
	opts := append([]kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.ClientID("tidemark-gateway"), kgo.DisableClientMetrics(),
		kgo.ConsumerGroup(c.Group), kgo.ConsumeTopics(c.Topics.Messages), kgo.DisableAutoCommit(),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.SessionTimeout(c.GroupSession), kgo.HeartbeatInterval(c.GroupSession / 5),
		kgo.OnPartitionsAssigned(changed), kgo.OnPartitionsRevoked(changed), kgo.OnPartitionsLost(changed),
		// Where nothing was committed yet: from when this gateway began, since before there was none.
		kgo.ConsumeResetOffset(kgo.NewOffset().AfterMilli(q.g.began.UnixMilli())),
		kgo.FetchMaxWait(time.Second), kgo.FetchMinBytes(1),
	}, c.ClientOptions...)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("client of Kafka: %w", err)
	}
	defer cl.CloseAllowingRebalance()
	for {
		fetches := cl.PollRecords(ctx, queuerBatch)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		if q.moved.Swap(false) {
			q.rosters.forget()
		}
		records := fetches.Records()
		if len(records) == 0 {
			continue
		}
		if err := q.judge(ctx, records); err != nil {
			return err
		}
		if err := q.commit(ctx, cl); err != nil {
			return err
		}
	}
}

// commit commits what was judged: all that was polled. While the group shares out anew it is refused, and tried again.
func (q *queuer) commit(ctx context.Context, cl *kgo.Client) error {
	for try := 1; ; try++ {
		err := cl.CommitUncommittedOffsets(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if try == 20 {
			return fmt.Errorf("committing: %w", err)
		}
		sleep(ctx, 100*time.Millisecond)
	}
}

// judge reports what is queued of a batch. It returns when everything is acknowledged.
func (q *queuer) judge(ctx context.Context, records []*kgo.Record) error {
	var list []absent
	for _, r := range records {
		var err error
		if list, err = q.members(ctx, r, list); err != nil {
			return err
		}
	}
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		queued, err := q.g.presence.without(ctx, list)
		if err == nil {
			err = q.report(ctx, queued)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		q.g.cfg.Logger.Warn("messages wait to be reported as queued", "messages", len(records), "err", err)
		sleep(ctx, pause)
	}
}

// members adds those for whom the message of a record may be queued.
func (q *queuer) members(ctx context.Context, r *kgo.Record, list []absent) ([]absent, error) {
	m := &q.decoder.message
	err := q.decoder.events.Message(r.Value, r.Timestamp.UnixMilli(), m)
	if err == nil {
		err = events.CheckPartition(m.ChannelID, r.Partition, q.g.cfg.Partitions)
	}
	if err != nil {
		return list, nil //nolint:nilerr // for the dead letters, which is the processor's doing
	}
	q.rosters.apply(m, r.Offset)
	// What never counts as unread in the channel is never counted as queued either.
	if m.Kind != events.KindMessagePosted || m.Silent || (len(m.ThreadID) > 0 && !m.Broadcast) || m.MemberCount > q.g.cfg.ReceiptLimit {
		return list, nil
	}
	known, err := q.roster(ctx, string(m.ChannelID), r)
	if err != nil || known.large && m.MemberCount == 0 {
		return list, err
	}
	q.away = q.g.hub.away(known.users, q.away[:0]) // most are here, if it is busy
	for _, user := range q.away {
		if user != string(m.SenderID) {
			list = append(list, absent{user, string(m.ChannelID), string(m.MessageID)})
		}
	}
	return list, nil
}

// roster asks for the members of a channel until rosterPatience is over; then nobody is taken to be one.
func (q *queuer) roster(ctx context.Context, channelID string, r *kgo.Record) (*roster, error) {
	token := r.Topic + "/" + strconv.Itoa(int(r.Partition)) + "/" + strconv.FormatInt(r.Offset, 10)
	until := time.Now().Add(rosterPatience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		known, err := q.rosters.of(ctx, channelID, r.Partition, r.Offset, token)
		if err == nil {
			return known, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if time.Now().After(until) {
			q.g.metrics.queuedUnknown.Inc()
			q.g.cfg.Logger.Warn("a message is passed over: who the channel's members are could not be asked",
				"topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", err)
			return &roster{}, nil
		}
		sleep(ctx, pause)
	}
}

// report writes the events, and waits until they are acknowledged.
func (q *queuer) report(ctx context.Context, list []absent) error {
	records := make([]*kgo.Record, 0, len(list))
	now := timestamppb.New(q.g.cfg.Now())
	for _, a := range list {
		value, err := proto.Marshal(&eventsv1.DeliveryEvent{
			ChannelId: a.channel, UserId: a.user, OccurredAt: now,
			Kind: &eventsv1.DeliveryEvent_Queued{Queued: &eventsv1.Queued{MessageId: a.message}},
		})
		if err != nil {
			return err // of ids that were decoded from UTF-8: it does not happen
		}
		records = append(records, &kgo.Record{Topic: q.g.cfg.Topics.Deliveries, Key: []byte(a.channel), Value: value})
	}
	ctx, cancel := context.WithTimeout(ctx, produceTimeout)
	defer cancel()
	var failed []error
	for _, res := range q.g.cfg.Producer.ProduceSync(ctx, records...) {
		if res.Err != nil {
			failed = append(failed, res.Err)
		} else {
			q.g.metrics.queued.Inc()
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d events were not written: %w", len(failed), len(records), errors.Join(failed[:1]...))
	}
	return nil
}

// sleep waits for d, or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
