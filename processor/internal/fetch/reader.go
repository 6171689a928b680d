package fetch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/inbox"
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
	r      *engine.Engine
	box    *inbox.Inbox
	feeder *Feeder // takes over when the reader gives up
	asking asking
	gates  [events.NumInputs]gate
	cancel context.CancelFunc
	done   chan struct{}
}

// Read fetches into an inbox from one position until another. It fetches nothing beyond. The inbox
// may hold inputBytes of each input.
func Read(ctx context.Context, r *engine.Engine, b *inbox.Inbox, f *Feeder, inputBytes int64, from, until projections.Position) *Reader {
	ctx, cancel := context.WithCancel(ctx)
	rd := &Reader{r: r, box: b, feeder: f, asking: asking{r, f.Client, b.Partition, r.Config.FetchBytes, RebuildWait}, cancel: cancel, done: make(chan struct{})}
	b.SetMax(min(inputBytes, rebuildAhead*int64(r.Config.FetchBytes)))
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

// input fetches one input from offset at to offset until.
func (rd *Reader) input(ctx context.Context, in events.Input, at, until int64) error {
	from, err := rd.asking.findLeader(ctx, in)
	if err != nil {
		return err
	}
	for at < until {
		if err := rd.gates[in].wait(ctx); err != nil {
			return err
		}
		got, err := rd.asking.fetch(ctx, in, at, from)
		if errors.Is(err, errThrottled) {
			continue
		}
		if err != nil {
			return err
		}
		if len(got.batches) > 0 {
			rd.box.FetchBatches(in, got.batches, got.next, got.end)
			at = got.next
		}
	}
	return nil
}
