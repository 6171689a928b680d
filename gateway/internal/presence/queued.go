package presence

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/loglimit"
	"github.com/tidemark/tidemark/internal/retry"
)

// Reporter reports messages as queued for members of small channels who have no socket anywhere
// (DESIGN §10).
//
// With several gateways, the one to which Kafka has assigned the message's partition reports, in
// the group of all gateways. Independently of the feed, it reads chat.messages from the group's
// committed offset on, looks up the members and their ws: keys, writes a Queued for each member
// without one, and commits when these are acknowledged.
//
// So one gateway judges a message. If that gateway crashes or loses the partition before it has
// committed, another one judges it again; a second Queued changes nothing in the fold. While Redis
// does not answer, no message is judged, and only messages that become older than Within meanwhile
// are skipped. The users of a crashed gateway stay present until their keys expire; nothing is
// queued for them meanwhile.
type Reporter struct {
	cfg     ReporterConfig
	rosters *rosters
	moved   atomic.Bool // partitions were assigned or revoked since the last batch
	decoder events.Decoder
	message events.Message

	passed loglimit.Lines[error] // skipped records that are not logged yet; see queued_panic.go
}

// ReporterConfig configures a Reporter. All fields except ClientOptions and Planted must be set.
type ReporterConfig struct {
	Brokers              []string
	ClientOptions        []kgo.Opt
	Messages, Deliveries string // topics
	Partitions           int32  // of the input topics
	Group                string
	GroupSession         time.Duration
	Producer             *kgo.Client

	Presence *Presence
	Members  Lister
	MayAsk   func() error // why Members cannot be called now; nil if it can
	Limit    uint32       // member count of the largest channel whose messages are reported
	Within   time.Duration
	Began    time.Time // when this gateway began: the start if the group has committed nothing

	Now    func() time.Time
	Logger *slog.Logger
	// Queued counts reported messages; Late those that were too old; Unknown those skipped because
	// the members could not be read; Failed those skipped because judging them panics.
	Queued, Late, Unknown, Failed prometheus.Counter

	// Planted is called with the name of a place, if it is set. Tests panic in it.
	Planted func(where string)
}

// NewReporter creates a Reporter. Run connects.
func NewReporter(c ReporterConfig) *Reporter {
	return &Reporter{cfg: c, rosters: newRosters(c.Members, c.Limit)}
}

const (
	// reporterBatch is how many records of chat.messages are judged at once, at most.
	reporterBatch = 500
	// produceTimeout is how long an event may take to be acknowledged.
	produceTimeout = 10 * time.Second
	// rosterPatience is how long requests for a channel's members are repeated before its message
	// is skipped: a partition without an owner must not delay all others.
	rosterPatience = 30 * time.Second
)

// absent is a message that is reported as queued for a user unless they have a socket.
type absent struct{ user, channel, message string }

// Run judges messages until ctx is done, in sessions.
func (q *Reporter) Run(ctx context.Context) {
	for pause := (retry.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}); ctx.Err() == nil; pause.Wait(ctx) {
		began := time.Now()
		if err := guard.Err("the reporting of queued messages", func() error { return q.session(ctx) }); err != nil && ctx.Err() == nil {
			q.cfg.Logger.Warn("reporting queued messages broke off; it continues at the committed offsets",
				append(guard.Attrs(err), "group", q.cfg.Group)...)
		}
		if time.Since(began) > time.Minute {
			pause.Reset()
		}
	}
}

func (q *Reporter) session(ctx context.Context) error {
	c := &q.cfg
	changed := func(context.Context, *kgo.Client, map[string][]int32) { q.moved.Store(true) }
	opts := append([]kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.ClientID("tidemark-gateway"), kgo.DisableClientMetrics(),
		kgo.ConsumerGroup(c.Group), kgo.ConsumeTopics(c.Messages), kgo.DisableAutoCommit(),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.SessionTimeout(c.GroupSession), kgo.HeartbeatInterval(c.GroupSession / 5),
		kgo.OnPartitionsAssigned(changed), kgo.OnPartitionsRevoked(changed), kgo.OnPartitionsLost(changed),
		// If nothing was committed: from the start of this gateway, because no gateway ran before
		// it.
		kgo.ConsumeResetOffset(kgo.NewOffset().AfterMilli(c.Began.UnixMilli())),
		kgo.FetchMaxWait(time.Second), kgo.FetchMinBytes(1),
	}, c.ClientOptions...)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("client of Kafka: %w", err)
	}
	defer func() {
		q.passed.Rest(q.logSkipped)
		if err := kafkaadmin.Leave(cl, kafkaadmin.LeavePatience); err != nil {
			c.Logger.Warn("reporting queued messages stops", "group", c.Group, "err", err)
		}
	}()
	for {
		fetches := cl.PollRecords(ctx, reporterBatch)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := broken(cl, fetches, c.Logger); err != nil {
			return err
		}
		if q.moved.Swap(false) {
			q.rosters.forget()
		}
		records := fetches.Records()
		if len(records) == 0 {
			continue
		}
		if err := q.judgeOrPass(ctx, records); err != nil {
			return err
		}
		if err := q.commit(ctx, cl); err != nil {
			return err
		}
	}
}

// broken returns the error that ends a session. After a batch that is too large to decompress the
// session continues: the partition's owner stopped there, and other partitions' messages are still
// reported.
func broken(cl *kgo.Client, fetches kgo.Fetches, log *slog.Logger) (failed error) {
	fetches.EachError(func(_ string, _ int32, err error) {
		if failed == nil && !inflate.PassOver(cl, err, log) {
			failed = err
		}
	})
	return failed
}

// commit commits everything that was polled, which is judged by now. During a rebalance the brokers
// refuse that, and commit retries.
func (q *Reporter) commit(ctx context.Context, cl *kgo.Client) error {
	for try := 1; ; try++ {
		err := cl.CommitUncommittedOffsets(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if try == 20 {
			return fmt.Errorf("committing: %w", err)
		}
		retry.Sleep(ctx, 100*time.Millisecond)
	}
}
