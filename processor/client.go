package processor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/processor/internal/steps"
)

// maxRecordBytes is enough for any dead letter.
const maxRecordBytes = steps.MaxCopied + 64<<10

// askerOptions returns the options of the client that sends requests for metadata and offsets, and
// the fetches of inputs that are far behind.
func (p *Processor) askerOptions() []kgo.Opt {
	opts := []kgo.Opt{kgo.WithLogger(engine.ClientLog{To: p.log})}
	opts = append(opts, p.cfg.ClientOptions...)
	return append(opts, p.engine.ClientOptions("admin")...)
}

// producerOptions returns the options of a client that produces through an outlet. Records state
// their partition themselves. A dead letter goes to the partition of its record, if the topic has
// one with that number.
func (p *Processor) producerOptions(o *outputs.Outlet) []kgo.Opt {
	opts := []kgo.Opt{kgo.ProducerLinger(0), kgo.WithLogger(engine.ClientLog{To: p.log})}
	opts = append(opts, p.cfg.ClientOptions...)
	opts = append(opts, p.engine.ProducerOptions(p.publisher.Buffered)...)
	return append(opts,
		kgo.Dialer(o.Dial),
		kgo.DialTLSConfig(nil), // the outlet's own dialer handles TLS
		kgo.RequiredAcks(kgo.AllISRAcks()),
		// The client must not send records that a fence has refused again, under another epoch,
		// before the group confirms the ownership.
		kgo.StopProducerOnDataLossDetected(),
		kgo.WithCompressor(outputs.NewCompressor()),
		kgo.MaxBufferedRecords(1<<18),
		kgo.ProducerBatchMaxBytesFn(func(topic string) int32 {
			if topic == p.cfg.Topics.DeadLetters {
				return maxRecordBytes
			}
			return 1_000_012 // Kafka's default limit for a topic
		}),
		kgo.RecordPartitioner(kgo.BasicConsistentPartitioner(func(string) func(*kgo.Record, int) int {
			return func(r *kgo.Record, n int) int { return int(r.Partition) % n }
		})),
	)
}

// consumerOptions returns the options of the group member. No offset to reset to is set, because
// each partition's start is decided when it opens, and a gap is an error.
func (p *Processor) consumerOptions() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.WithLogger(engine.ClientLog{To: p.log}),
		kgo.RebalanceTimeout(2 * p.cfg.StopTimeout),
		// A resumed or newly assigned partition waits for the fetch in progress.
		kgo.FetchMaxWait(250 * time.Millisecond),
		kgo.SessionTimeout(p.cfg.SessionTimeout),
		// A member learns of a rebalance with its next heartbeat. Until then a moving partition
		// answers no queries.
		kgo.HeartbeatInterval(min(200*time.Millisecond, p.cfg.SessionTimeout/3)),
	}
	if p.cfg.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(p.cfg.InstanceID))
	}
	opts = append(opts, p.cfg.ClientOptions...)
	opts = append(opts, p.engine.ClientOptions("consumer")...)
	return append(opts,
		kgo.ConsumerGroup(p.cfg.Group),
		kgo.Balancers(p.balancer),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// The end marker of a transaction is a record. Without it a position would never reach the
		// end of the log.
		kgo.KeepControlRecords(),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(p.callback("taking partitions over", p.onAssigned)),
		kgo.OnPartitionsRevoked(p.callback("giving partitions away", p.onRevoked)),
		kgo.OnPartitionsLost(p.callback("dropping lost partitions", p.onLost)),
		kgo.WithHooks(sessionEnds(func(err error) {
			if bug := guard.Do("noting the end of a session", func() { p.groupFailed(err) }); bug != nil {
				p.log.Error("the end of a session of the group is not in /readyz", guard.Attrs(bug)...)
			}
		})),
		kgo.OnOffsetsFetched(func(ctx context.Context, cl *kgo.Client, r *kmsg.OffsetFetchResponse) error {
			return guard.Err("reading the group's offsets", func() error { return p.onFetched(ctx, cl, r) })
		}),
		kgo.AdjustFetchOffsetsFn(func(ctx context.Context, o map[string]map[int32]kgo.Offset) (to map[string]map[int32]kgo.Offset, err error) {
			err = guard.Err("the opening of partitions", func() (err error) {
				to, err = p.adjustOffsets(ctx, o)
				return err
			})
			return to, err
		}),
	)
}

// callback wraps f for the client's goroutine, where a panic would end the process. After a panic
// the member is not ready until the group has assigned partitions again.
func (p *Processor) callback(where string, f func(context.Context, *kgo.Client, map[string][]int32)) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(ctx context.Context, cl *kgo.Client, partitions map[string][]int32) {
		if err := guard.Do(where, func() { f(ctx, cl, partitions) }); err != nil {
			p.log.Error("a rebalance could not be completed", append(guard.Attrs(err), "partitions", partitions)...)
			p.groupFailed(err)
		}
	}
}

// newProducer creates a client that has no producer id yet.
func (p *Processor) newProducer() (*outputs.Producer, error) {
	dial, ok := p.asker.OptValue(kgo.Dialer).(func(context.Context, string, string) (net.Conn, error))
	if !ok {
		return nil, errors.New("processor: the Kafka client has no dial function")
	}
	o := outputs.NewOutlet(p.lease, dial)
	client, err := kgo.NewClient(p.producerOptions(o)...)
	if err != nil {
		return nil, fmt.Errorf("processor: producer: %w", err)
	}
	return &outputs.Producer{Client: client, Outlet: o}, nil
}
