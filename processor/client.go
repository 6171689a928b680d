package processor

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kprom"
)

// maxRecordBytes lets any dead letter through.
const maxRecordBytes = copiedBytes + 64<<10

func (p *Processor) commonOptions(role string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(p.cfg.Brokers...),
		kgo.ClientID("tidemark-" + role),
		kgo.WithHooks(kprom.NewMetrics("tidemark", kprom.Subsystem("processor_kafka"), kprom.WithClientLabel(),
			kprom.Registerer(p.cfg.Registerer))),
		kgo.DisableClientMetrics(),
	}
}

// producerOptions are those of the client that produces and asks. Records say their partition themselves; a dead letter
// goes to that of its record, as far as the topic has one.
func (p *Processor) producerOptions() []kgo.Opt {
	opts := []kgo.Opt{kgo.ProducerLinger(0), kgo.WithLogger(clientLog{p.log})}
	opts = append(opts, p.cfg.ClientOptions...)
	opts = append(opts, p.commonOptions("producer")...)
	return append(opts,
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression(), kgo.NoCompression()),
		kgo.MaxBufferedRecords(1<<18),
		kgo.ProducerBatchMaxBytesFn(func(topic string) int32 {
			if topic == p.cfg.Topics.DeadLetters {
				return maxRecordBytes
			}
			return 1_000_012 // what a topic accepts if it does not say otherwise
		}),
		kgo.RecordPartitioner(kgo.BasicConsistentPartitioner(func(string) func(*kgo.Record, int) int {
			return func(r *kgo.Record, n int) int { return int(r.Partition) % n }
		})),
	)
}

// consumerOptions are those of the group member. There is no offset to reset to: where a partition starts is decided
// when it is opened, and a gap is an error.
func (p *Processor) consumerOptions() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.WithLogger(clientLog{p.log}),
		kgo.RebalanceTimeout(2 * p.cfg.StopTimeout),
		// A partition that is resumed or newly assigned waits for the fetch that is under way.
		kgo.FetchMaxWait(250 * time.Millisecond),
		kgo.SessionTimeout(p.cfg.SessionTimeout),
		// A member learns of a rebalance by its next heartbeat, and a partition that moves answers nobody meanwhile.
		kgo.HeartbeatInterval(min(200*time.Millisecond, p.cfg.SessionTimeout/3)),
	}
	if p.cfg.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(p.cfg.InstanceID))
	}
	opts = append(opts, p.cfg.ClientOptions...)
	opts = append(opts, p.commonOptions("consumer")...)
	return append(opts,
		kgo.ConsumerGroup(p.cfg.Group),
		kgo.Balancers(p.balancer),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// The end of a transaction is a record: without it a position would never reach the end of the log.
		kgo.KeepControlRecords(),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(p.onAssigned),
		kgo.OnPartitionsRevoked(p.onRevoked),
		kgo.OnPartitionsLost(p.onLost),
		kgo.WithHooks(sessionEnds(p.groupFailed)),
		kgo.AdjustFetchOffsetsFn(p.adjustOffsets),
	)
}

// tailOptions are those of the client that fetches for standbys. It belongs to no group and commits nothing.
func (p *Processor) tailOptions() []kgo.Opt {
	opts := []kgo.Opt{kgo.WithLogger(clientLog{p.log}), kgo.FetchMaxWait(250 * time.Millisecond)}
	opts = append(opts, p.cfg.ClientOptions...)
	opts = append(opts, p.commonOptions("standby")...)
	return append(opts,
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(),
	)
}
