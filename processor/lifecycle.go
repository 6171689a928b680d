package processor

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// owner is the part of a worker that ties it to its Processor: how its store is opened, how it begins and how it ends.
type owner struct {
	p      *Processor
	ctx    context.Context // ends with the worker: what it still has in flight is given up
	cancel context.CancelFunc

	after    <-chan struct{}      // nil, or closed when an earlier worker has closed the same store
	opened   chan struct{}        // closed when storedAt is known
	storedAt projections.Position // the store's position when it was opened
	refused  error                // set before main if there is nothing to open
	orders   chan order           // holds the order to begin, or to give up
	room     room                 // on the disk of its store
	started  atomic.Bool
	tails    atomic.Bool // it was begun as a standby and was not promoted

	restoring       chan struct{} // closed when a snapshot is brought
	restoringOnce   sync.Once
	postponed       atomic.Bool               // openLater starts it
	reopened        int                       // how often its partition was rebuilt without a new assignment
	tries           int                       // how often it was tried again since it last ran for long
	retryAt         atomic.Pointer[time.Time] // when it is tried again, nil if it is not
	panicked        *brake                    // at which record the fold panicked before, if it is not folded yet
	snapshotTrouble error                     // why no snapshot was used, or an earlier one; set before opened is closed
	copying         sync.RWMutex              // held while the store is copied, and to close it
}

// order is what is decided about a partition whose store is open.
type order struct {
	plan     opening
	ends     projections.Position
	standing bool  // as a standby
	err      error // give up
}

// newWorker makes the worker of a partition that this process has come to own or to tail, whose records client fetches.
// mu is held.
func (p *Processor) newWorker(number int32, client *kgo.Client) *worker {
	w := &worker{
		number: number, count: p.cluster.Load().partitions, cfg: &p.cfg, out: p, log: p.log,
		metrics: &workerMetrics{metrics: p.metrics}, done: make(chan struct{}),
	}
	w.owner = owner{p: p, after: p.leaving[number], opened: make(chan struct{}), restoring: make(chan struct{}), orders: make(chan order, 1), room: newRoom()}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.inbox = newInbox(p.cfg.inputBytes(1), &p.queued, p.flow(number, client))
	return w
}

// flow pauses and resumes the inputs of a partition.
func (p *Processor) flow(number int32, client *kgo.Client) func(in events.Input, paused bool) {
	return func(in events.Input, paused bool) {
		one := map[string][]int32{p.cfg.Topics.Inputs[in]: {number}}
		if paused {
			client.PauseFetchPartitions(one)
		} else {
			client.ResumeFetchPartitions(one)
		}
	}
}

// refuse makes main fail with err without opening anything.
func (w *worker) refuse(err error) { w.refused = err }

// main is the goroutine of a partition, from the opening of its store to its closing.
func (w *worker) main() {
	defer close(w.done)
	defer w.cancel()
	if w.after != nil {
		<-w.after
	}
	if w.refused == nil {
		w.refused = w.parked()
	}
	if w.refused == nil {
		if w.fold, w.refused = w.openStore(); w.refused != nil {
			w.refused = openFailure(w.refused)
		}
	}
	defer w.again()
	if w.refused != nil {
		w.fail(w.refused, stopAbort)
		w.finish()
		return
	}
	w.room.reason.Store(nil)
	w.storedAt = w.fold.StoredPosition()
	w.progress.advance(w.storedAt)
	close(w.opened)
	if w.awaitOrder() {
		w.run()
	}
	w.finish()
}

// awaitOrder waits until it is decided where the partition starts. It returns false if it is to end instead.
func (w *worker) awaitOrder() bool {
	for {
		select {
		case o := <-w.orders:
			if o.err != nil {
				w.fail(o.err, stopAbort)
				return false
			}
			if w.standing = o.standing; w.standing {
				w.setState(StateStandby)
			}
			w.start(w.cfg.now(), o.plan, o.ends)
			return true
		case <-w.inbox.wake:
			// Records may be here before the order is: they stay in the inbox.
			stop, failed := w.inbox.peek()
			if failed != nil {
				w.fail(failed, stopAbort)
				return false
			}
			if stop != stopNone {
				return false
			}
		}
	}
}

// begin lets a worker whose store is open start.
func (w *worker) begin(o order) {
	w.inbox.expect(o.plan.from)
	w.tails.Store(o.standing)
	w.started.Store(true)
	w.orders <- o
}

// giveUp ends a worker that cannot start, or a standby that cannot be promoted.
func (w *worker) giveUp(err error) {
	switch {
	case w.tails.Load():
		w.inbox.fail(err)
	case !w.started.Load():
		select {
		case w.orders <- order{err: err}:
		default:
		}
	}
}

// resumeAt is where a worker that has started goes on to be fetched.
func (w *worker) resumeAt() (projections.Position, bool) {
	return w.inbox.expected(), w.started.Load()
}

// finish makes the partition invisible, lets everybody go who waits for it, and closes the store.
func (w *worker) finish() {
	w.live.Store(nil)
	failed := w.failure.Load() != nil
	if !failed {
		w.setState(StateClosed)
	}
	w.hub.end()
	w.progress.end(w.failed())
	w.p.closeInbox(w, failed)
	if w.fold == nil {
		return
	}
	w.room.giveUp()
	// Whoever reads under the lock has seen that the partition is live, and is waited for.
	w.copying.Lock()
	w.fold.Lock()
	err := w.fold.Close()
	w.fold.Unlock()
	w.copying.Unlock()
	if err := w.failure.Load(); err != nil && projections.IsCorrupt(*err) && !w.p.inputsOnly {
		w.rebuild(*err)
		return
	}
	if err != nil {
		w.log.Error("store is not closed in order: what it holds up to its last write stays valid", "partition", w.number, "err", err)
	}
}

// rebuild gives up a store that was found corrupt while it was in use: it is moved aside, and if the partition is still
// here, another worker brings a snapshot or folds the log.
func (w *worker) rebuild(why error) {
	if err := w.quarantine(StoreDir(w.cfg.DataDir, w.number), why); err != nil {
		w.log.Error("partition cannot be rebuilt", "partition", w.number, "err", err)
		return
	}
	if w.reopened < maxReopened && w.p.reopen(w, func(next *worker) { next.reopened, next.tries = w.reopened+1, w.tries }) {
		w.log.Info("partition is opened again", "partition", w.number)
	}
}

// closeInbox closes a worker's inbox. The inputs of a partition that failed are paused, unless the partition has gone to
// somebody in the meantime, who may be this process again.
func (p *Processor) closeInbox(w *worker, failed bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	w.inbox.close(failed && p.workers[w.number] == w)
}

// failed is why the partition is not here: its failure, or that it was given away.
func (w *worker) failed() error {
	if err := w.failure.Load(); err != nil {
		return *err
	}
	return ErrNotOwner
}

// publish, apply and acknowledged implement outside.

func (p *Processor) publish(w *worker, records []*kgo.Record) {
	p.publisher.publish(w.ctx, records, w.inbox.publishDone)
}

func (p *Processor) apply(w *worker, c cut) {
	go func() {
		began := p.cfg.now()
		err := c.Apply()
		p.metrics.phase(phaseApply, p.cfg.now().Sub(began))
		w.inbox.applyDone(err)
	}()
}

func (p *Processor) acknowledged(partition int32, position projections.Position) {
	p.committer.note(partition, position)
}
