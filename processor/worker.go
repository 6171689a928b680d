package processor

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// outside is what the steps of a partition do to the world. Its methods return at once; outcomes come back through the
// inbox.
type outside interface {
	// publish produces the records, all or with an error, and then calls the inbox's publishDone. It does not touch the
	// records' memory after that.
	publish(w *worker, records []*kgo.Record)
	// apply writes the cut and then calls the inbox's applyDone.
	apply(w *worker, c cut)
	// acknowledged says that everything up to position is published, so that the group may commit it.
	acknowledged(partition int32, position projections.Position)
}

// worker folds one partition. Its goroutine calls step over and over; everything it has is its own, but for the inbox,
// the atomics, and the fold, which queries read under its lock.
//
// The invariant of the store lives here: a cut is taken together with a drain of everything, and applied when the
// records of that drain and of all before it are acknowledged. So the store holds no position beyond what is published.
// At most one set of records and one cut are outstanding. While they are, the fold goes on, and what it changes is drained
// together the next time: the slower the brokers, the larger the batches.
type worker struct {
	number  int32
	count   int32 // partitions of the inputs
	cfg     *Config
	out     outside
	log     *slog.Logger
	metrics *workerMetrics

	inbox    *inbox
	progress progress
	hub      hub
	ends     [events.NumInputs]atomic.Int64
	lastTime [events.NumInputs]atomic.Int64 // timestamp of the last record folded, Unix milliseconds
	state    atomic.Uint32
	live     atomic.Pointer[projections.Partition] // nil unless StateLive or StateStopping
	failure  atomic.Pointer[error]
	done     chan struct{} // closed when the goroutine has ended and the store is closed

	fold    fold
	merge   *merger
	batch   batch
	breaker *breaker
	deltas  projections.Deltas
	records []kgo.Record // memory of the set in flight
	dead    []*kgo.Record

	owner
	hungry atomic.Bool // it has nothing to fold, or waits for an input that is behind

	plan     opening
	goal     projections.Position // where it is to be live, once it is not silent any more
	silent   bool                 // what is folded was published before
	standing bool                 // a standby: it follows what the owner has published, and is not to go live
	opening  atomic.Pointer[openingProgress]
	began    time.Time
	lastSaid time.Time // when progress was logged last

	pending      int           // records folded since the last drain
	pendingSince time.Time     // when the first of them was
	lastFull     time.Time     // of the last drain of everything
	lastFanout   int           // records in it
	lastRecords  time.Time     // of the last drain of channels' records
	recordsTook  time.Duration // from there to its acknowledgement
	flight       *flight       // what waits for acknowledgements
	acked        projections.Position
	stored       projections.Position
	cutting      bool // a cut is being applied
	full         bool // the disk is: nothing is folded and no cut is taken
	lastCut      time.Time
	stopping     stopKind
	err          error // why it stops by itself
}

// flight is a set of records that is being published.
type flight struct {
	position projections.Position
	full     bool // everything up to position is in it or was before
	channels bool // at least the channels' records are
	cut      cut  // nil: none was taken
	began    time.Time
	records  int
}

// step does what there is to do now. It returns how long nothing more is to be done, unless the inbox wakes the
// goroutine earlier, and whether the partition has ended.
func (w *worker) step(now time.Time) (sleep time.Duration, ended bool) {
	w.receive(now)
	w.checkRoom()
	if w.stopping == stopAbort {
		// A cut that is being applied was acknowledged: it is waited for, since it uses the store.
		if w.full {
			w.room.giveUp()
		}
		return time.Hour, !w.cutting
	}
	var waitUntil time.Time
	if w.stopping == stopNone && w.mayFold() {
		waitUntil = w.foldSome(now)
	}
	switch {
	case w.stopping != stopNone:
	case w.silent:
		w.advanceOpening(now)
	case w.State() == StateOpening:
		w.arrive(now)
	}
	if w.stopping == stopAbort {
		return 0, false
	}
	w.drainIfDue(now, !waitUntil.IsZero())
	switch w.stopping {
	case stopAbort:
		return 0, false
	case stopClean:
		if w.full && w.published() {
			w.room.giveUp() // what is not stored is folded again
		}
		if w.room.gaveUp() {
			return time.Hour, !w.cutting
		}
		return time.Hour, w.settled()
	case stopNone:
	}
	return w.idle(now, waitUntil), false
}

// receive takes what is new from the inbox.
func (w *worker) receive(now time.Time) {
	n := w.inbox.take()
	if n.stop > w.stopping {
		w.stopping = n.stop
		if w.err == nil {
			w.setState(StateStopping)
		}
	}
	if n.failed != nil {
		w.fail(n.failed, stopClean)
	}
	var known [events.NumInputs]int64
	for i := range n.fetched {
		for _, f := range n.fetched[i] {
			if f.batches != nil {
				w.merge.addBatches(events.Input(i), source{w.cfg.Topics.Inputs[i], w.number}, f.batches, f.next, f.end)
				continue
			}
			for _, r := range w.merge.add(events.Input(i), f.records, f.end) {
				known[i] += recordBytes(r)
			}
		}
		w.ends[i].Store(w.merge.streams[i].end)
	}
	w.inbox.consumed(known)
	w.receiveStanding(now, &n)
	if n.applied != nil {
		w.applied(n.applied.err)
	}
	if n.published != nil {
		w.delivered(now, n.published.err)
	}
}

// maxUndrained is how many pairs may have changed before their deltas are published, whatever the number of records: those
// of an import of memberships name thousands of users each, and a delta takes some 600 bytes until it is acknowledged.
const maxUndrained = 1 << 18

// mayFold bounds what is folded and not yet published, and what is dirty and not yet written. While the disk is full
// nothing is folded.
func (w *worker) mayFold() bool {
	return !w.full && (w.silent || w.pending < 4*w.cfg.BatchRecords && w.fold.Undrained() < maxUndrained) &&
		w.fold.DirtyBytes() < 2*w.cutBytes()
}

// published reports whether all that was folded is acknowledged.
func (w *worker) published() bool { return w.flight == nil && w.acked == w.fold.Position() }

// settled reports whether a partition that stops has nothing left to do.
func (w *worker) settled() bool { return !w.cutting && w.published() && w.stored == w.fold.Position() }

// idle is how long the goroutine may sleep.
func (w *worker) idle(now time.Time, waitUntil time.Time) time.Duration {
	if w.mayFold() && waitUntil.IsZero() && w.merge.any() {
		return 0
	}
	sleep := time.Hour
	wakeAt := func(t time.Time) {
		if !t.IsZero() {
			sleep = min(sleep, max(t.Sub(now), 0))
		}
	}
	wakeAt(waitUntil)
	if w.full {
		return min(sleep, roomEvery)
	}
	if w.flight == nil && !w.silent && w.held() {
		wakeAt(w.dueAt(waitUntil.IsZero() && w.merge.any()))
	}
	if w.flight == nil && !w.cutting && w.fold.Position() != w.stored {
		wakeAt(w.lastCut.Add(w.cfg.CutEvery))
	}
	return sleep
}

// fail stops the partition for good: in order, if what was folded so far is right, or at once. It is not live from here
// on. Of several errors the first is kept.
func (w *worker) fail(err error, how stopKind) {
	w.stopping = max(w.stopping, how)
	if w.err == nil {
		w.err = err
		w.failure.Store(&err)
		w.live.Store(nil)
		w.setState(StateFailed)
	}
	attrs := []any{"partition", w.number, "err", err}
	var re *recordError
	if errors.As(err, &re) {
		attrs = append(attrs, "topic", re.topic, "offset", re.offset)
	}
	var pe *panicError
	if errors.As(err, &pe) {
		attrs = append(attrs, "stack", string(pe.stack))
	}
	w.log.Error("partition stops", attrs...)
}

func (w *worker) setState(s State) { w.state.Store(uint32(s)) }

// State is where the partition is.
func (w *worker) State() State { return State(w.state.Load()) }

// run steps until the partition has ended.
func (w *worker) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		sleep, ended := w.safeStep()
		if ended {
			return
		}
		w.hungry.Store(sleep > 0 && w.mayFold())
		if sleep == 0 {
			continue
		}
		timer.Reset(sleep)
		select {
		case <-w.inbox.wake:
		case <-timer.C:
		}
	}
}

// safeStep is step, in which a panic fails this partition alone.
func (w *worker) safeStep() (sleep time.Duration, ended bool) {
	defer func() {
		if p := recover(); p != nil {
			w.fail(fmt.Errorf("partition %d: %w", w.number, newPanic("its worker", p)), stopAbort)
			sleep, ended = 0, false
		}
	}()
	return w.step(w.cfg.now())
}

// limit holds back what is beyond the position, or nothing.
func (w *worker) limit(until *projections.Position) {
	for i := range w.merge.streams {
		w.merge.streams[i].limit = math.MaxInt64
		if until != nil {
			w.merge.streams[i].limit = until[i]
		}
	}
}
