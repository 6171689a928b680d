package fetch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/inbox"
)

const (
	// Behind is the least number of records that an input is behind when CatchUp fetches it.
	Behind = 1 << 15
	// CatchUpBytes is the size of a fetch of one input, in bytes on the wire: the client's default.
	CatchUpBytes = 1 << 20
	// catchUpMemory is the share of an input in the memory for fetched records. It bounds how many
	// inputs CatchUp fetches.
	catchUpMemory = 2 << 20
	// catchUpTurns is how many requests to a broker may be on their way. They share a connection, on
	// which each waits for those before it.
	catchUpTurns = 8
	// catchUpPatience bounds a fetch. A Kafka without ZooKeeper replaces a leader that has died after
	// 9 s.
	catchUpPatience = 15 * time.Second
	// catchUpPause is how long an input stays with the client's consumer, at least; after failures
	// twice as long each time, up to catchUpLongest.
	catchUpPause   = 10 * time.Second
	catchUpLongest = 5 * time.Minute
	// returnDelay is how long inputs wait for others before the consumer gets them back together: it
	// interrupts its fetches of all inputs for that.
	returnDelay = 50 * time.Millisecond
	// maxEmpty is how many answers in a row without records, although there are some, end the fetching.
	maxEmpty = 3
)

// CatchUp fetches inputs of live partitions that are far behind, as a Reader does in a rebuild:
// with its own requests for record batches, which the folding goroutine decodes. The client's
// consumer pauses such an input. The consumer goes on at the input's end, and after the first
// answer that CatchUp does not handle.
//
// Each of them fetches an input without gaps, from an offset on that the inbox has expected. So
// what they have fetched may overlap, and the merge drops what it has.
type CatchUp struct {
	Engine *engine.Engine
	// Asker sends the fetches. It must not be Consumer, whose fetches of inputs without new records
	// wait at the brokers: requests on one connection wait for each other.
	Asker, Consumer *kgo.Client
	// Hold runs f while no partition can be given away. is reports whether an inbox is that of a
	// partition's worker.
	Hold func(f func(is func(b *inbox.Inbox) bool))

	running sync.WaitGroup

	mu     sync.Mutex
	inputs int64 // fetched now
	routes map[*inbox.Inbox]*route
	turns  map[int32]chan struct{} // of each broker; has a value for each request on its way
	ended  []ended                 // wait for the consumer
}

// route is who fetches the inputs of a partition.
type route struct {
	box    *inbox.Inbox
	asking asking
	client func(in events.Input, paused bool) // pauses and resumes an input at the consumer
	gates  [events.NumInputs]gate
	own    [events.NumInputs]bool // fetched by CatchUp; only with box locked

	// Guarded by CatchUp.mu:
	taken    [events.NumInputs]bool
	failures [events.NumInputs]int       // in a row
	until    [events.NumInputs]time.Time // not before this time again
}

// ended is an input that the consumer gets back.
type ended struct {
	*route
	in    events.Input
	epoch int32
}

// place is an offset in the log of an input, and the leader epoch in which the record before it was
// written; -1: unknown.
type place struct {
	at    int64
	epoch int32
}

// Seen is what a fetch of the consumer shows of an input.
type Seen struct {
	lag   int64 // offsets between its last record and the end of the log
	epoch int32 // leader epoch of its last record
}

// SeenIn returns what f shows. Call it before the records of f are delivered.
func SeenIn(f *kgo.FetchPartition) Seen {
	if len(f.Records) == 0 || f.Err != nil {
		return Seen{}
	}
	last := f.Records[len(f.Records)-1]
	return Seen{committedEnd(f.LastStableOffset, f.HighWatermark) - last.Offset - 1, last.LeaderEpoch}
}

// Look begins to fetch an input if it is far behind. Only the goroutine that polls the consumer may
// call it, after it has delivered the fetch with s. ctx ends with the worker of the inbox.
func (c *CatchUp) Look(ctx context.Context, b *inbox.Inbox, in events.Input, s Seen) {
	if s.lag < c.Engine.Config.Behind {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.routes[b]
	if r == nil {
		r = &route{box: b, asking: asking{c.Engine, c.Asker, b.Partition, c.Engine.Config.FetchBytes, 250 * time.Millisecond},
			client: c.Engine.Flow(b.Partition, c.Consumer)}
	}
	if r.taken[in] || ctx.Err() != nil || c.Engine.Config.Now().Before(r.until[in]) || c.inputs >= max(c.Engine.Config.QueueBytes/catchUpMemory, 1) {
		return
	}
	from := place{epoch: s.epoch}
	if !b.Switch(in, r.flow, func(paused bool, next int64) {
		r.own[in], from.at = true, next
		r.gates[in].set(paused)
		r.client(in, true)
	}) {
		return // the records were fetched for an earlier worker of the partition
	}
	r.taken[in] = true
	c.inputs++
	if c.routes[b] == nil {
		if c.routes == nil {
			c.routes = map[*inbox.Inbox]*route{}
		}
		c.routes[b] = r
		context.AfterFunc(ctx, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.routes, b)
		})
	}
	c.running.Add(1)
	guard.Go("the fetching of an input", func(e *guard.Error) {
		b.Fail(failure.Passing(fmt.Errorf("%s/%d: %w", c.Engine.Config.Topics.Inputs[in], b.Partition, e)))
	}, func() {
		defer c.running.Done()
		c.run(ctx, r, in, from)
	})
}

// flow pauses and resumes an input wherever it is fetched. The inbox calls it, locked.
func (r *route) flow(in events.Input, paused bool) {
	if r.own[in] {
		r.gates[in].set(paused)
		return
	}
	r.client(in, paused)
}

// run fetches an input up to its end, and gives it back.
func (c *CatchUp) run(ctx context.Context, r *route, in events.Input, from place) {
	to, loss, err := c.tryAll(ctx, r, in, from)
	switch {
	case ctx.Err() != nil || r.box.Closed(): // the next worker of the partition sets its own offsets
	case loss != nil:
		r.box.Fail(fetchError(c.Engine, in, &kgo.FetchPartition{Partition: r.box.Partition, Err: loss}, r.box))
	default:
		if err != nil {
			c.Engine.Log.Info("an input is fetched by the client's consumer again", "partition", r.box.Partition, "err", err)
		}
		c.giveBack(ended{r, in, to.epoch}, err != nil)
	}
}

// tryAll is fetch. After an error it also says if the log has lost what was fetched. At its end there
// is room for another input.
func (c *CatchUp) tryAll(ctx context.Context, r *route, in events.Input, from place) (to place, loss *kgo.ErrDataLoss, err error) {
	defer c.fetched()
	to, err = c.fetch(ctx, r, in, from)
	switch {
	case err == nil || errors.As(err, &loss):
	case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.InconsistentTopicID), errors.Is(err, kerr.OffsetOutOfRange):
		// The consumer finds the same, and says it.
	default:
		errors.As(r.asking.checkEpoch(ctx, in, to.at, to.epoch), &loss)
	}
	return to, loss, err
}

func (c *CatchUp) fetched() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inputs--
}

// fetch fetches an input up to its end. It returns how far it has come.
func (c *CatchUp) fetch(ctx context.Context, r *route, in events.Input, p place) (place, error) {
	leader, err := r.asking.findLeader(ctx, in)
	if err == nil && leader.epoch != p.epoch {
		err = r.asking.checkEpoch(ctx, in, p.at, p.epoch)
	}
	for empty := 0; err == nil; {
		if err = r.gates[in].wait(ctx); err != nil || r.box.Closed() {
			break
		}
		Throttle(ctx, c.Engine.Config.QueueBytes, c.Engine.Queued.Load, func() bool { return r.box.Starved.Load() || r.box.Closed() })
		var got answered
		switch got, err = c.ask(ctx, r, in, p.at, leader); {
		case errors.Is(err, errThrottled):
			err = nil
			continue
		case err != nil:
			return p, err
		case len(got.batches) > 0:
			r.box.FetchBatches(in, got.batches, got.next, got.end)
			c.Engine.Metrics.CaughtUp.Add(float64(len(got.batches)))
			p, empty = place{got.next, got.epoch}, 0
		case p.at < got.end:
			if empty++; empty == maxEmpty {
				err = fmt.Errorf("%s/%d at offset %d: the answers have no records although the log ends at offset %d",
					c.Engine.Config.Topics.Inputs[in], r.box.Partition, p.at, got.end)
			}
		}
		if p.at >= got.end {
			break
		}
	}
	return p, err
}

// ask fetches once, when it is this request's turn at the broker.
func (c *CatchUp) ask(ctx context.Context, r *route, in events.Input, at int64, from leader) (answered, error) {
	turns := c.turnsAt(from.broker)
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return answered{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpPatience)
	defer cancel()
	return r.asking.fetch(ctx, in, at, from)
}

func (c *CatchUp) turnsAt(broker int32) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns == nil {
		c.turns = map[int32]chan struct{}{}
	}
	if c.turns[broker] == nil {
		c.turns[broker] = make(chan struct{}, catchUpTurns)
	}
	return c.turns[broker]
}

// giveBack lets the consumer fetch an input from where its inbox expects it, together with others
// that end at about the same time.
func (c *CatchUp) giveBack(e ended, failed bool) {
	if !c.end(e, failed) {
		return // the first one gives all back
	}
	time.Sleep(returnDelay)
	all := c.takeEnded()
	if err := guard.Do("the return of inputs to the client's consumer", func() { c.returnAll(all) }); err != nil {
		for _, e := range all {
			e.box.Fail(failure.Passing(fmt.Errorf("partition %d: %w", e.box.Partition, err)))
		}
	}
}

// end adds an input to those that the consumer gets back, and reports whether it is the first.
func (c *CatchUp) end(e ended, failed bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	pause := catchUpPause
	if failed {
		pause = min(pause<<min(e.failures[e.in], 10), catchUpLongest)
		e.failures[e.in]++
	} else {
		e.failures[e.in] = 0
	}
	e.until[e.in] = c.Engine.Config.Now().Add(pause)
	c.ended = append(c.ended, e)
	return len(c.ended) == 1
}

func (c *CatchUp) takeEnded() []ended {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.ended
	c.ended = nil
	return all
}

// returnAll lets the consumer fetch inputs. With the epochs it notices if a log has lost what was
// fetched, once another broker leads.
func (c *CatchUp) returnAll(all []ended) {
	c.Hold(func(is func(b *inbox.Inbox) bool) {
		to := map[string]map[int32]kgo.EpochOffset{}
		for _, e := range all {
			if topic := c.Engine.Config.Topics.Inputs[e.in]; is(e.box) {
				if to[topic] == nil {
					to[topic] = map[int32]kgo.EpochOffset{}
				}
				to[topic][e.box.Partition] = kgo.EpochOffset{Epoch: e.epoch, Offset: e.box.Expected()[e.in]}
			}
		}
		c.Consumer.SetOffsets(to)
		for _, e := range all {
			if is(e.box) {
				e.box.Switch(e.in, e.flow, func(paused bool, _ int64) {
					e.own[e.in] = false
					if !paused {
						e.client(e.in, false)
					}
				})
			}
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range all {
		e.taken[e.in] = false
	}
}

// Wait waits until nothing is fetched any more. The workers' contexts must have ended.
func (c *CatchUp) Wait() { c.running.Wait() }
