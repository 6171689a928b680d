package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// A rebuild asks the leaders for record batches itself and leaves the decoding of them to who folds them (batches.go): one
// goroutine an input, which asks again as soon as there is room. That is all that it does: at the first answer that is not
// plain records (the leader has moved, the log does not reach back, a broker is gone), the client consumes what is left,
// which knows what to do in each of these cases.

// rebuildAhead is how many fetches of an input may wait to be folded.
const rebuildAhead = 2

// reader fetches the inputs of one partition that is rebuilt.
type reader struct {
	p       *Processor
	w       *worker
	feeder  *feeder // goes on where the reader gives up
	leaders [events.NumInputs]int32
	gates   [events.NumInputs]gate
	cancel  context.CancelFunc
	done    chan struct{}
}

// read fetches for a worker, from a position until others: what is beyond is of no use.
func (r *rebuild) read(w *worker, f *feeder, from, until projections.Position) *reader {
	ctx, cancel := context.WithCancel(w.ctx)
	rd := &reader{p: r.p, w: w, feeder: f, cancel: cancel, done: make(chan struct{})}
	w.inbox.setMax(min(r.p.cfg.inputBytes(min(r.parallel, len(r.numbers))), rebuildAhead*int64(r.p.cfg.rebuildFetch)))
	w.inbox.reroute(func(in events.Input, paused bool) { rd.gates[in].set(paused) })
	go func() {
		defer close(rd.done)
		if err := rd.run(ctx, from, until); err != nil && ctx.Err() == nil {
			r.p.log.Info("the rest of a partition is fetched by the client's consumer", "partition", w.number, "err", err)
			w.inbox.setMax(r.p.cfg.inputBytes(min(r.parallel, len(r.numbers))))
			rd.handOver()
		}
	}()
	return rd
}

// handOver lets the client's consumer fetch what is left. None of the inputs is being fetched.
func (rd *reader) handOver() {
	rd.feeder.feed(rd.w, rd.w.inbox.expected())
	// After it, for it lifts all pauses: what is paused is so until now without the client.
	rd.feeder.do(func() { rd.w.inbox.reroute(rd.p.flow(rd.w.number, rd.feeder.client)) })
}

// leave ends the fetching.
func (rd *reader) leave() {
	rd.cancel()
	<-rd.done
	rd.feeder.leave(rd.w)
}

// run fetches all inputs to their ends. It returns when none is being fetched any more.
func (rd *reader) run(ctx context.Context, from, until projections.Position) error {
	if err := rd.findLeaders(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i := range from {
		all.Go(func() {
			if err := rd.input(ctx, events.Input(i), from[i], until[i]); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func (rd *reader) findLeaders(ctx context.Context) error {
	topics := rd.p.cfg.Topics.Inputs
	all, err := kadm.NewClient(rd.feeder.client).ListTopics(ctx, topics[:]...)
	if err != nil {
		return err
	}
	for i, topic := range topics {
		t := all[topic]
		part, ok := t.Partitions[rd.w.number]
		switch {
		case t.Err != nil:
			return t.Err
		case part.Err != nil:
			return part.Err
		case !ok || part.Leader < 0:
			return kerr.LeaderNotAvailable
		case t.ID != rd.p.cluster.Load().topics[i].ID:
			return kerr.UnknownTopicID
		}
		rd.leaders[i] = part.Leader
	}
	return nil
}

// input fetches one input from offset at to offset until.
func (rd *reader) input(ctx context.Context, in events.Input, at, until int64) error {
	for at < until {
		if err := rd.gates[in].wait(ctx); err != nil {
			return err
		}
		got, err := rd.fetch(ctx, in, at)
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", rd.p.cfg.Topics.Inputs[in], rd.w.number, at, err)
		}
		end := got.LastStableOffset
		if end < 0 {
			end = got.HighWatermark
		}
		whole, next, err := wholeBatches(got.RecordBatches)
		switch {
		case err != nil:
			return err
		case len(got.AbortedTransactions) > 0:
			return errors.New("there are aborted transactions") // whose records only the whole answer tells apart
		case len(whole) == 0 && len(got.RecordBatches) > 0:
			return errors.New("a record batch did not come as a whole")
		case len(whole) > 0:
			rd.w.inbox.fetchBatches(in, whole, next, end)
			at = next
		}
	}
	return nil
}

// fetch asks the leader for what comes at an offset and after it.
func (rd *reader) fetch(ctx context.Context, in events.Input, at int64) (*kmsg.FetchResponseTopicPartition, error) {
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = rd.w.number, at, rd.p.cfg.rebuildFetch
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = rd.p.cfg.Topics.Inputs[in], rd.p.cluster.Load().topics[in].ID
	topic.Partitions = append(topic.Partitions, part)
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(rebuildFetchWait.Milliseconds()), 1, rd.p.cfg.rebuildFetch
	req.IsolationLevel = 1 // read committed
	req.Topics = append(req.Topics, topic)

	answer, err := rd.feeder.client.Broker(int(rd.leaders[in])).RetriableRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	resp, ok := answer.(*kmsg.FetchResponse)
	switch {
	case !ok:
		return nil, fmt.Errorf("the answer to a fetch is a %T", answer)
	case resp.ErrorCode != 0:
		return nil, kerr.ErrorForCode(resp.ErrorCode)
	case len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].Partition != rd.w.number:
		return nil, errors.New("the answer to a fetch is not about what was asked for")
	}
	got := &resp.Topics[0].Partitions[0]
	return got, kerr.ErrorForCode(got.ErrorCode)
}

// wholeBatches is b without the part of a batch at its end, and the offset after what is left.
func wholeBatches(b []byte) (whole []byte, next int64, err error) {
	for n := 0; ; {
		length, after, ok := batchAt(b[n:])
		if !ok {
			return nil, 0, errors.New("there are records of an old format")
		}
		if length == 0 {
			return b[:n:n], next, nil
		}
		n, next = n+length, after
	}
}

// gate is closed while nothing is to be fetched. The zero value is open.
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
