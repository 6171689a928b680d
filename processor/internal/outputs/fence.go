package outputs

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A member that loses its partitions may have records on their way that it cannot recall: in the
// buffers of a kernel or a proxy, or behind a write that has begun. If the broker appends one of
// them after the new owner's record of the same key, compaction keeps the older value. So before
// the new owner writes to a partition of the outputs, it makes the broker refuse the old owner
// there.
//
// An idempotent producer numbers its batches under an id and an epoch, and the leader of a
// partition refuses a batch whose epoch is lower than the last one that it has appended under this
// id. The fence is a batch of one record under the id of the old owner and the highest possible
// epoch. A record of the old owner is in the log before the fence, or never gets there. The fence's
// record is a copy of one that the new owner publishes right after it anyway.

// Fence names a partition of an output topic and a producer that must not write to it any more.
type Fence struct {
	Producer  int64
	Topic     string
	Partition int32
}

// FenceEpoch is above every epoch that a client uses by itself: those end one below.
const FenceEpoch = math.MaxInt16

// fenceTimeout is how long the brokers may take to replicate a fence.
const fenceTimeout = 10 * time.Second

// Fencer raises fences. Its client must not give up a produce request without an answer.
type Fencer struct {
	Client *kgo.Client
	Admin  *kadm.Client
}

// Raise appends the record of each fence to its partition, and returns once all in-sync replicas
// have all of them. Raising a fence again changes nothing. The error may be transient.
func (f *Fencer) Raise(ctx context.Context, fences map[Fence]*kgo.Record) error {
	topics := map[string]bool{}
	for at := range fences {
		topics[at.Topic] = true
	}
	details, err := f.Admin.ListTopics(ctx, slices.Sorted(maps.Keys(topics))...)
	if err != nil {
		return fmt.Errorf("leaders of the output topics: %w", err)
	}
	// A request can have each partition only once, so each producer gets its own requests.
	type target struct {
		broker   int32
		producer int64
	}
	requests := map[target]*kmsg.ProduceRequest{}
	for at, record := range fences {
		topic := details[at.Topic]
		leader, ok := topic.Partitions[at.Partition]
		if err := errors.Join(topic.Err, leader.Err); err != nil || !ok {
			return fmt.Errorf("%s/%d has no leader: %w", at.Topic, at.Partition, errors.Join(err, kerr.LeaderNotAvailable))
		}
		to := target{leader.Leader, at.Producer}
		if requests[to] == nil {
			r := kmsg.NewPtrProduceRequest()
			r.Acks, r.TimeoutMillis = -1, int32(fenceTimeout.Milliseconds())
			requests[to] = r
		}
		addBatch(requests[to], at, topic.ID, fenceBatch(at.Producer, record))
	}
	for to, request := range requests {
		if err := f.send(ctx, to.broker, request); err != nil {
			return err
		}
	}
	return nil
}

func addBatch(request *kmsg.ProduceRequest, at Fence, id kadm.TopicID, batch []byte) {
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = at.Partition, batch
	for i := range request.Topics {
		if t := &request.Topics[i]; t.Topic == at.Topic {
			t.Partitions = append(t.Partitions, p)
			return
		}
	}
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = at.Topic, id
	t.Partitions = append(t.Partitions, p)
	request.Topics = append(request.Topics, t)
}

func (f *Fencer) send(ctx context.Context, broker int32, request *kmsg.ProduceRequest) error {
	response, err := f.Client.Broker(int(broker)).RetriableRequest(ctx, request)
	if err != nil {
		return fmt.Errorf("fence former owners at broker %d: %w", broker, err)
	}
	answer, ok := response.(*kmsg.ProduceResponse)
	if !ok {
		return fmt.Errorf("broker %d answers a produce request with %T", broker, response)
	}
	for _, topic := range answer.Topics {
		for _, p := range topic.Partitions {
			err := kerr.ErrorForCode(p.ErrorCode)
			// A broker rejects a fence that is raised again for its sequence number, or takes it
			// for a duplicate.
			if err != nil && !errors.Is(err, kerr.DuplicateSequenceNumber) && !errors.Is(err, kerr.OutOfOrderSequenceNumber) {
				return fmt.Errorf("fence former owners from partition %d of the outputs at broker %d: %w", p.Partition, broker, err)
			}
		}
	}
	return nil
}

// fenceBatch returns a copy of a record as the first batch of a producer's last epoch, in the
// brokers' format.
func fenceBatch(producer int64, r *kgo.Record) []byte {
	record := kmsg.Record{Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		record.Headers = append(record.Headers, kmsg.Header{Key: h.Key, Value: h.Value})
	}
	record.Length = int32(len(record.AppendTo(nil)) - 1) // the zero length takes one byte
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: producer, ProducerEpoch: FenceEpoch, FirstSequence: 0,
		NumRecords: 1, Records: record.AppendTo(nil),
	}
	const beforeLength, beforeSum = 12, 21 // bytes that the length and the checksum do not cover
	encoded := b.AppendTo(nil)
	b.Length = int32(len(encoded) - beforeLength)
	encoded = b.AppendTo(encoded[:0])
	b.CRC = int32(crc32.Checksum(encoded[beforeSum:], crc32.MakeTable(crc32.Castagnoli)))
	return b.AppendTo(encoded[:0])
}
