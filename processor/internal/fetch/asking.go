package fetch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/merge"
)

// asking requests record batches of a partition's inputs from their leaders. An answer that is not
// just records is an error: the log does not reach back, a leader has moved, transactions were
// aborted.
type asking struct {
	r         *engine.Engine
	client    *kgo.Client
	partition int32
	bytes     int32         // of one answer; a larger batch comes alone
	wait      time.Duration // how long a broker holds a fetch that finds nothing
}

// leader is the broker that leads an input, and the epoch since its election. After another
// election it answers with an error.
type leader struct{ broker, epoch int32 }

// answered is a piece of the log of an input.
type answered struct {
	batches []byte // whole batches
	next    int64  // the offset after them, if there are any
	epoch   int32  // the leader's when it wrote the last of them
	end     int64  // the end of what is committed in the log
}

// findLeader asks who leads an input.
func (a *asking) findLeader(ctx context.Context, in events.Input) (leader, error) {
	topic := a.r.Config.Topics.Inputs[in]
	all, err := a.r.Admin.ListTopics(ctx, topic)
	if err != nil {
		return leader{}, err
	}
	t := all[topic]
	part, ok := t.Partitions[a.partition]
	switch {
	case t.Err != nil:
		return leader{}, t.Err
	case part.Err != nil:
		return leader{}, part.Err
	case !ok || part.Leader < 0:
		return leader{}, kerr.LeaderNotAvailable
	case t.ID != a.r.Cluster.Load().Topics[in].ID:
		return leader{}, kerr.UnknownTopicID
	}
	return leader{part.Leader, part.LeaderEpoch}, nil
}

// errThrottled is the error of an answer without records to a client that exceeds its quota. The
// client delays its next requests to that broker.
var errThrottled = errors.New("the broker throttles this client")

// fetch requests the records of an input from an offset on.
func (a *asking) fetch(ctx context.Context, in events.Input, at int64, from leader) (answered, error) {
	got, err := a.request(ctx, in, at, from)
	if err == nil {
		var read answered
		if read, err = readAnswer(got); err == nil {
			return read, nil
		}
	}
	return answered{}, fmt.Errorf("%s/%d at offset %d: %w", a.r.Config.Topics.Inputs[in], a.partition, at, err)
}

func readAnswer(got *kmsg.FetchResponseTopicPartition) (a answered, err error) {
	a.end = committedEnd(got.LastStableOffset, got.HighWatermark)
	a.batches, a.next, a.epoch, err = merge.WholeBatches(got.RecordBatches)
	switch {
	case err != nil:
		return a, err
	case len(got.AbortedTransactions) > 0:
		return a, errors.New("there are aborted transactions") // only the client's consumer can leave out their records
	case len(a.batches) == 0 && len(got.RecordBatches) > 0:
		return a, errors.New("a record batch is incomplete")
	}
	return a, nil
}

func (a *asking) request(ctx context.Context, in events.Input, at int64, from leader) (*kmsg.FetchResponseTopicPartition, error) {
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes, part.CurrentLeaderEpoch = a.partition, at, a.bytes, from.epoch
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = a.r.Config.Topics.Inputs[in], a.r.Cluster.Load().Topics[in].ID
	topic.Partitions = append(topic.Partitions, part)
	req := kmsg.NewPtrFetchRequest()
	// Only the limit of the partition counts: kfake leaves the aborted transactions out of an answer
	// that reaches the limit of the request.
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(a.wait.Milliseconds()), 1, math.MaxInt32
	req.IsolationLevel = 1 // read committed
	req.Topics = append(req.Topics, topic)

	answer, err := a.client.Broker(int(from.broker)).RetriableRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	resp, ok := answer.(*kmsg.FetchResponse)
	switch {
	case !ok:
		return nil, fmt.Errorf("the answer to a fetch is a %T", answer)
	case resp.ErrorCode != 0:
		return nil, kerr.ErrorForCode(resp.ErrorCode)
	case len(resp.Topics) == 0 && resp.ThrottleMillis > 0:
		return nil, errThrottled
	case len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].Partition != a.partition:
		return nil, errors.New("the answer to a fetch is about another partition")
	}
	got := &resp.Topics[0].Partitions[0]
	return got, kerr.ErrorForCode(got.ErrorCode)
}

// checkEpoch returns a *kgo.ErrDataLoss if the log has lost records before offset at. epoch is that
// in which the record before at was written. A log loses records when a broker becomes the leader
// that does not have them. If nobody answers within epochPatience, checkEpoch returns nil: there is
// no leader. The client's consumer then checks by itself when it learns of one.
func (a *asking) checkEpoch(ctx context.Context, in events.Input, at int64, epoch int32) error {
	if epoch < 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, epochPatience)
	defer cancel()
	topic := a.r.Config.Topics.Inputs[in]
	var req kadm.OffsetForLeaderEpochRequest
	req.Add(topic, a.partition, epoch)
	for {
		answer, err := a.r.Admin.OffsetForLeaderEpoch(ctx, req)
		is, ok := answer[topic][a.partition]
		switch {
		case err != nil || !ok || kerr.IsRetriable(is.Err):
		case is.Err == nil && is.EndOffset >= 0 && is.EndOffset < at:
			return &kgo.ErrDataLoss{Topic: topic, Partition: a.partition, ConsumedTo: at, ConsumedToEpoch: epoch,
				ResetTo: is.EndOffset, ResetToEpoch: is.LeaderEpoch}
		default:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(epochEvery):
		}
	}
}

const (
	epochPatience = 5 * time.Second
	epochEvery    = 200 * time.Millisecond // between two tries
)
