package fetch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/merge"
	"github.com/tidemark/tidemark/projections"
)

// A rebuild requests record batches from the leaders itself, with one goroutine per input. It sends
// the next request as soon as the inbox has space. The folding goroutine decodes the batches
// (internal/merge). At the first answer other than plain records (the leader has moved, the log
// does not reach back, a broker is gone) the Kafka client takes over the rest, because it handles
// each of these cases.

// RebuildWait is how long a broker holds a fetch that finds nothing. A resumed input waits for the
// fetch in progress, and in a rebuild some inputs are at their ends while others are paused. With
// the wait of a live node, a rebuild would mostly wait.
const RebuildWait = 10 * time.Millisecond

// RebuildBytes is the size of a fetch of one input, in bytes on the wire. While all processors
// fold, an answer is handled some 10 ms late, and the records of the previous answer must last that
// long. One megabyte, the client's default, is not always enough.
const RebuildBytes = 2 << 20

// rebuildAhead is how many fetches of an input may wait to be folded.
const rebuildAhead = 2

// Reader fetches the inputs of one partition in a rebuild.
type Reader struct {
	r       *engine.Engine
	box     *inbox.Inbox
	feeder  *Feeder // takes over when the reader gives up
	leaders [events.NumInputs]int32
	gates   [events.NumInputs]gate
	cancel  context.CancelFunc
	done    chan struct{}
}

// Read fetches into an inbox from one position until another. It fetches nothing beyond. The inbox
// may hold inputBytes of each input.
func Read(ctx context.Context, r *engine.Engine, b *inbox.Inbox, f *Feeder, inputBytes int64, from, until projections.Position) *Reader {
	ctx, cancel := context.WithCancel(ctx)
	rd := &Reader{r: r, box: b, feeder: f, cancel: cancel, done: make(chan struct{})}
	b.SetMax(min(inputBytes, rebuildAhead*int64(r.Config.RebuildFetch)))
	b.Reroute(func(in events.Input, paused bool) { rd.gates[in].set(paused) })
	guard.Go("the fetching of a partition", func(e *guard.Error) {
		b.Fail(fmt.Errorf("partition %d: %w", b.Partition, e))
	}, func() {
		defer close(rd.done)
		if err := rd.run(ctx, from, until); err != nil && ctx.Err() == nil {
			r.Log.Info("the rest of a partition is fetched by the client's consumer", "partition", b.Partition, "err", err)
			b.SetMax(inputBytes)
			rd.handOver()
		}
	})
	return rd
}

// handOver lets the client's consumer fetch the rest. No input is being fetched at this point.
func (rd *Reader) handOver() {
	rd.feeder.Feed(rd.box, rd.box.Expected())
	// This must follow Feed, which resumes every partition. Until here pausing was only local to
	// the inbox.
	rd.feeder.do(func() { rd.box.Reroute(rd.r.Flow(rd.box.Partition, rd.feeder.Client)) })
}

// Leave ends the fetching.
func (rd *Reader) Leave() {
	rd.cancel()
	<-rd.done
	rd.feeder.Leave(rd.box)
}

// run fetches all inputs to their ends. It returns when none is being fetched.
func (rd *Reader) run(ctx context.Context, from, until projections.Position) error {
	if err := rd.findLeaders(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i := range from {
		all.Go(func() {
			err := guard.Err("the fetching of an input", func() error { return rd.input(ctx, events.Input(i), from[i], until[i]) })
			if err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func (rd *Reader) findLeaders(ctx context.Context) error {
	topics := rd.r.Config.Topics.Inputs
	all, err := kadm.NewClient(rd.feeder.Client).ListTopics(ctx, topics[:]...)
	if err != nil {
		return err
	}
	for i, topic := range topics {
		t := all[topic]
		part, ok := t.Partitions[rd.box.Partition]
		switch {
		case t.Err != nil:
			return t.Err
		case part.Err != nil:
			return part.Err
		case !ok || part.Leader < 0:
			return kerr.LeaderNotAvailable
		case t.ID != rd.r.Cluster.Load().Topics[i].ID:
			return kerr.UnknownTopicID
		}
		rd.leaders[i] = part.Leader
	}
	return nil
}

// input fetches one input from offset at to offset until.
func (rd *Reader) input(ctx context.Context, in events.Input, at, until int64) error {
	for at < until {
		if err := rd.gates[in].wait(ctx); err != nil {
			return err
		}
		got, err := rd.fetch(ctx, in, at)
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", rd.r.Config.Topics.Inputs[in], rd.box.Partition, at, err)
		}
		end := got.LastStableOffset
		if end < 0 {
			end = got.HighWatermark
		}
		whole, next, err := merge.WholeBatches(got.RecordBatches)
		switch {
		case err != nil:
			return err
		case len(got.AbortedTransactions) > 0:
			return errors.New("there are aborted transactions") // only the client's consumer can leave out their records
		case len(whole) == 0 && len(got.RecordBatches) > 0:
			return errors.New("a record batch is incomplete")
		case len(whole) > 0:
			rd.box.FetchBatches(in, whole, next, end)
			at = next
		}
	}
	return nil
}

// fetch requests the records from an offset on from the leader.
func (rd *Reader) fetch(ctx context.Context, in events.Input, at int64) (*kmsg.FetchResponseTopicPartition, error) {
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = rd.box.Partition, at, rd.r.Config.RebuildFetch
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = rd.r.Config.Topics.Inputs[in], rd.r.Cluster.Load().Topics[in].ID
	topic.Partitions = append(topic.Partitions, part)
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(RebuildWait.Milliseconds()), 1, rd.r.Config.RebuildFetch
	req.IsolationLevel = 1 // read committed
	req.Topics = append(req.Topics, topic)

	answer, err := rd.feeder.Client.Broker(int(rd.leaders[in])).RetriableRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	resp, ok := answer.(*kmsg.FetchResponse)
	switch {
	case !ok:
		return nil, fmt.Errorf("the answer to a fetch is a %T", answer)
	case resp.ErrorCode != 0:
		return nil, kerr.ErrorForCode(resp.ErrorCode)
	case len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].Partition != rd.box.Partition:
		return nil, errors.New("the answer to a fetch is about another partition")
	}
	got := &resp.Topics[0].Partitions[0]
	return got, kerr.ErrorForCode(got.ErrorCode)
}

// gate blocks while fetching is paused. The zero value is open.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // nil while it is open
}

func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case closed && g.opened == nil:
		g.opened = make(chan struct{})
	case !closed && g.opened != nil:
		close(g.opened)
		g.opened = nil
	}
}

func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened == nil {
		return ctx.Err()
	}
	select {
	case <-opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
