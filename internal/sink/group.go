package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kprom"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/inflate"
)

// Group is how a sink is a member of its consumer group.
type Group struct {
	Brokers        []string
	Name           string // of the group
	ClientID       string
	Subsystem      string // of the Kafka client's metrics
	Topics         []string
	SessionTimeout time.Duration
	FetchBytes     int32
	PartitionBytes int32                 // what a fetch takes of one partition
	Options        []kgo.Opt             // overridden by what a sink needs
	Registerer     prometheus.Registerer // nil: no metrics
	Logger         *slog.Logger

	// Assign returns where partitions that are newly this member's begin. Its context ends with the
	// rebalance or with the session. LetGo forgets some that others take over. An error of either,
	// or a panic, goes to Breaks and ends the session.
	Assign func(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error)
	LetGo  func(gone map[string][]int32)
	Breaks func(error)
}

// Client makes the client of a member for a session. more are options of one sink alone.
func (g *Group) Client(session context.Context, more ...kgo.Opt) (*kgo.Client, error) {
	opts := []kgo.Opt{
		kgo.FetchMaxWait(250 * time.Millisecond),
		kgo.FetchMaxBytes(g.FetchBytes),
		kgo.FetchMaxPartitionBytes(g.PartitionBytes),
		kgo.SessionTimeout(g.SessionTimeout),
		kgo.HeartbeatInterval(min(time.Second, g.SessionTimeout/5)),
	}
	opts = append(opts, g.Options...)
	letGo := func(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
		if err := guard.Do("giving partitions away", func() { g.LetGo(gone) }); err != nil {
			g.Breaks(err)
		}
	}
	opts = append(opts,
		kgo.SeedBrokers(g.Brokers...),
		kgo.ClientID(g.ClientID),
		kgo.DisableClientMetrics(),
		kgo.ConsumerGroup(g.Name),
		kgo.ConsumeTopics(g.Topics...),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.DisableAutoCommit(),
		kgo.KeepControlRecords(), // the last record of a log may be one
		kgo.AdjustFetchOffsetsFn(func(ctx context.Context, o map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(session, cancel)()
			var to map[string]map[int32]kgo.Offset
			err := guard.Err("taking partitions over", func() (err error) {
				to, err = g.Assign(ctx, o)
				return err
			})
			return to, err
		}),
		kgo.OnPartitionsRevoked(letGo),
		kgo.OnPartitionsLost(letGo),
	)
	opts = append(opts, more...)
	if r := g.Registerer; r != nil { // its collectors come and go with the client
		opts = append(opts, kgo.WithHooks(kprom.NewMetrics("tidemark", kprom.Subsystem(g.Subsystem), kprom.Registerer(r))))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("client of Kafka: %w", err)
	}
	return cl, nil
}

// Failure returns the first error of fetches that does not pass by itself: a poll that wait ended,
// a group that the client joins again, and a fetch that is repeated do.
func (g *Group) Failure(wait context.Context, cl *kgo.Client, fetches kgo.Fetches) (failed error) {
	fetches.EachError(func(topic string, number int32, err error) {
		var group *kgo.ErrGroupSession
		switch {
		case errors.Is(err, context.DeadlineExceeded) && wait.Err() != nil: // nothing came in time
		case errors.As(err, &group):
			g.Logger.Warn("the group was lost, joining again", "group", g.Name, "error", err)
		case inflate.Deferred(err): // it is fetched again
		case failed == nil:
			failed = fmt.Errorf("fetch %s/%d: %w", topic, number, inflate.InWords(err, inflate.Limit(cl)))
		}
	})
	return failed
}
