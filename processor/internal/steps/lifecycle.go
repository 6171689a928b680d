package steps

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/metrics"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// Host runs workers. A Processor is a Host, and so is a rebuild.
type Host interface {
	outside
	// HasWorker reports whether a worker is still the current one of its partition here.
	HasWorker(w *Worker) bool
	// CloseInbox closes a worker's inbox. A failed worker leaves its inputs paused, if it is still
	// the current one of its partition.
	CloseInbox(w *Worker, failed bool)
	// Spoil records that a worker ended while records of it were in flight.
	Spoil(partition int32)
	// Reopen opens the partition of a failed worker again, if this process still owns it, and
	// reports whether it does.
	Reopen(w *Worker, change func(next *Worker)) bool
	// Ending is closed when all partitions must end.
	Ending() <-chan struct{}
}

// lease ties a worker to its host: how its store is opened, and how the worker begins and ends.
type lease struct {
	engine *engine.Engine
	host   Host
	Ctx    context.Context // ends with the worker: work still in flight is given up
	cancel context.CancelFunc

	After    <-chan struct{}      // closed when an earlier worker has closed the same store; nil: there is none
	Opened   chan struct{}        // closed when StoredAt is known
	StoredAt projections.Position // the store's position when it was opened
	refused  error                // set before main runs if nothing must be opened
	orders   chan opening.Order   // holds the order to begin or to give up
	Home     *home.Home
	Started  atomic.Bool
	Tails    atomic.Bool // it began as a standby and has not been promoted

	Postponed atomic.Bool               // openLater will start it
	reopened  int                       // how often its partition was rebuilt without a new assignment
	tries     int                       // retries since the partition last ran for long
	retryAt   atomic.Pointer[time.Time] // when it is opened again; nil: it is not
	copying
}

// New creates the worker of a partition. It opens its store once after is closed; nil: at once.
func New(r *engine.Engine, h Host, number int32, client *kgo.Client, after <-chan struct{}) *Worker {
	w := &Worker{
		Number: number, count: r.Cluster.Load().Partitions, cfg: &r.Config, out: h, log: r.Log,
		metrics: &metrics.Worker{Set: r.Metrics}, Done: make(chan struct{}),
	}
	w.lease = lease{engine: r, host: h, After: after, Opened: make(chan struct{}), orders: make(chan opening.Order, 1)}
	w.Life.Taken = r.Config.Taken
	w.Ctx, w.cancel = context.WithCancel(context.Background())
	w.Hub.number, w.Hub.arrivals = number, &r.Arrivals
	w.Inbox = inbox.New(number, r.Config.InputBytes(1), &r.Queued, r.Flow(number, client))
	w.Home = home.New(w.Ctx, r, w.Inbox, w.Opened)
	return w
}

// Refuse makes main fail with err without opening anything.
func (w *Worker) Refuse(err error) { w.refused = err }

// Launch starts the goroutine of a partition.
func (w *Worker) Launch() {
	guard.Go("a partition's goroutine", guard.Log(w.log, "partition did not stop cleanly", "partition", w.Number), w.main)
}

// main is the goroutine of a partition, from the opening of its store to its closing.
func (w *Worker) main() {
	defer close(w.Done)
	defer w.cancel()
	if err := guard.Do("its worker", w.serve); err != nil {
		w.fail(failure.Passing(fmt.Errorf("partition %d: %w", w.Number, err)), inbox.StopAbort)
	}
	w.finish()
	w.attempt("the next try to open its partition", w.retry)
}

// attempt runs a part of the end, so that a panic in one part does not skip the others.
func (w *Worker) attempt(what string, f func()) {
	if err := guard.Do(what, f); err != nil {
		w.log.Error("partition did not stop cleanly", append(guard.Attrs(err), "partition", w.Number)...)
	}
}

// serve opens the store and folds until the partition ends.
func (w *Worker) serve() {
	if w.After != nil {
		<-w.After
	}
	if w.refused == nil {
		w.refused = w.Home.Parked()
	}
	if w.refused == nil {
		if w.Fold, w.refused = w.Home.Open(); w.refused != nil {
			w.refused = failure.OfOpening(w.refused)
		}
	}
	if w.refused != nil {
		w.fail(w.refused, inbox.StopAbort)
		return
	}
	w.Home.Space.Note(nil)
	w.StoredAt = w.Fold.StoredPosition()
	w.Progress.advance(w.StoredAt)
	close(w.Opened)
	if w.awaitOrder() {
		w.run()
	}
}

// awaitOrder waits for the order where the partition starts. It returns false if the worker must
// end instead.
func (w *Worker) awaitOrder() bool {
	for {
		select {
		case o := <-w.orders:
			if o.Err != nil {
				w.fail(o.Err, inbox.StopAbort)
				return false
			}
			w.standby = o.Standby
			w.start(w.cfg.Now(), o.Plan, o.Ends)
			return true
		case <-w.Inbox.Wake:
			// Records that came before the order stay in the inbox.
			stop, failed := w.Inbox.Peek()
			if failed != nil {
				w.fail(failed, inbox.StopAbort)
				return false
			}
			if stop != inbox.StopNone {
				return false
			}
		}
	}
}

// Begin gives the order to start to a worker whose store is open.
func (w *Worker) Begin(o opening.Order) {
	w.Inbox.Expect(o.Plan.From)
	w.Tails.Store(o.Standby)
	w.Started.Store(true)
	w.orders <- o
}

// GiveUp ends a worker that cannot start, or a standby that cannot be promoted.
func (w *Worker) GiveUp(err error) {
	switch {
	case w.Tails.Load():
		w.Inbox.Fail(err)
	case !w.Started.Load():
		select {
		case w.orders <- opening.Order{Err: err}:
		default:
		}
	}
}

// ResumeAt returns where to continue fetching for a worker that has started.
func (w *Worker) ResumeAt() (projections.Position, bool) {
	return w.Inbox.Expected(), w.Started.Load()
}

// finish makes the partition invisible, releases all callers that wait for it, and closes the
// store.
func (w *Worker) finish() {
	w.Live.Store(nil)
	w.bad.Rest(w.logBad)
	failed := w.Failure.Load() != nil
	if !failed {
		w.attempt("the closing of its life", func() { w.Life.To(life.Closed) })
	}
	if w.flight != nil {
		w.host.Spoil(w.Number)
	}
	w.attempt("the end of its watches", w.endWatches)
	w.attempt("the end of its waits", func() { w.Progress.end(w.Failed()) })
	w.attempt("the closing of its inbox", func() { w.host.CloseInbox(w, failed) })
	if w.Fold == nil {
		return
	}
	w.Home.Space.GiveUp()
	err := w.closeStore()
	w.attempt("the noting of whom it knew", w.remember)
	if err := w.Failure.Load(); err != nil && projections.IsCorrupt(*err) && !w.engine.InputsOnly {
		w.attempt("the giving up of its store", func() { w.rebuild(*err) })
		return
	}
	if err != nil {
		w.log.Error("store was not closed cleanly: it stays valid up to its last write",
			append(guard.Attrs(err), "partition", w.Number)...)
	}
}

// endWatches ends the watches of users in this partition. If the partition was live it also ends
// those in all partitions of this node, because the partition may be live elsewhere from now on.
func (w *Worker) endWatches() {
	w.Hub.end()
	if w.served != nil {
		w.engine.Arrivals.End()
	}
}

// remember keeps the users of a failed partition. As long as the partition stays assigned to this
// process, no other member answers for it, so this list covers every user about whom anything was
// published. After a corruption there is no list.
func (w *Worker) remember() {
	err := w.Failure.Load()
	switch {
	case err == nil:
	case projections.IsCorrupt(*err):
		w.Known.Store(nil)
	case w.served != nil:
		w.Known.Store(w.served.Known())
	}
}

// closeStore waits for readers that saw the partition live and hold its lock, then closes the
// store.
func (w *Worker) closeStore() error {
	w.endCompaction()
	w.Copying.Lock()
	defer w.Copying.Unlock()
	w.Fold.Lock()
	defer w.Fold.Unlock()
	defer w.Fold.TimeHold("close")()
	return guard.Err("the closing of its store", w.Fold.Close)
}

// maxReopened limits how often a partition is rebuilt without a new assignment.
const maxReopened = 3

// rebuild gives up a store that was found corrupt while it was in use. It moves the store aside; if
// this process still owns the partition, another worker restores a snapshot or folds the log.
func (w *Worker) rebuild(why error) {
	if err := w.Home.Quarantine(w.Home.Dir(), why); err != nil {
		w.log.Error("partition cannot be rebuilt", "partition", w.Number, "err", err)
		return
	}
	if w.reopened < maxReopened && w.host.Reopen(w, func(next *Worker) { next.reopened, next.tries = w.reopened+1, w.tries }) {
		w.log.Info("partition is opened again", "partition", w.Number)
	}
}

// Failed returns why the partition is not here: its failure, or that it was given away.
func (w *Worker) Failed() error {
	if err := w.Failure.Load(); err != nil {
		return *err
	}
	return life.ErrNotOwner
}

// Apply writes a cut in a goroutine of its own.
func Apply(r *engine.Engine, w *Worker, c setup.Cut) {
	guard.Go("the writing of its store", func(e *guard.Error) { w.Inbox.ApplyDone(e) }, func() {
		began := r.Config.Now()
		err := c.Apply()
		r.Metrics.Phase(metrics.PhaseApply, r.Config.Now().Sub(began))
		w.Inbox.ApplyDone(err)
	})
}
