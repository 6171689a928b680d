package steps

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/loglimit"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/merge"
	"github.com/tidemark/tidemark/processor/internal/metrics"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// outside has the side effects of a partition's steps. Its methods return at once; outcomes come
// back through the inbox.
type outside interface {
	// Publish produces the records, all or with an error, and then calls the inbox's PublishDone.
	// After that it does not use the records' memory.
	Publish(w *Worker, records outputs.Outgoing)
	// Apply writes the cut and then calls the inbox's ApplyDone.
	Apply(w *Worker, c setup.Cut)
	// Acknowledged states that everything up to position is published, so that the group may commit
	// it.
	Acknowledged(partition int32, position projections.Position)
	// Committed returns the group's offsets of an owned partition. When they change while the
	// worker holds a cut, the inbox is poked.
	Committed(partition int32) projections.Position
}

// Worker folds one partition. Its goroutine calls step over and over and owns all fields, except
// the inbox, the atomics, and the fold, which queries read under its lock.
//
// The invariant of the store lives here: a cut is taken together with a drain of everything, and
// applied when the records of that drain and of all before it are acknowledged. So the store never
// has a position beyond the published one. At most one set of records and one cut are outstanding.
// Meanwhile the fold goes on, and the next drain takes all its changes together: the slower the
// brokers, the larger the batches.
//
// A cut that forgets keys, or that is made beside cold channels, waits for the group's offsets, too
// (holding.go).
type Worker struct {
	Number  int32
	count   int32 // partition count of the inputs
	cfg     *setup.Checked
	out     outside
	log     *slog.Logger
	metrics *metrics.Worker

	Inbox    *inbox.Inbox
	Progress progress
	Hub      hub
	ends     [events.NumInputs]atomic.Int64
	lastTime [events.NumInputs]atomic.Int64 // timestamp of the last record folded, Unix milliseconds
	Life     life.Cycle
	Live     atomic.Pointer[projections.Partition] // nil unless life.Live or life.Stopping
	Known    atomic.Pointer[projections.Known]     // after a failure: the users of the partition when it was last live
	Failure  atomic.Pointer[error]
	Done     chan struct{} // closed when the goroutine has ended and the store is closed

	Fold    setup.Fold
	served  *projections.Partition // the projections that were live; nil: none were
	merge   *merge.Merger
	batch   batch
	breaker *breaker
	deltas  projections.Deltas
	dead    []*kgo.Record
	bad     loglimit.Lines[badRecord] // records in the dead letters that are not logged yet

	traced traced

	oldest int64 // timestamp of the first record folded since the last full drain, Unix milliseconds; 0: none was

	lease

	plan       opening.Plan
	goal       projections.Position // where it goes live, once the replay has ended
	replaying  bool                 // a former owner has published what it folds, so it publishes nothing
	standby    bool                 // it follows the owner's committed offsets and does not go live
	opening    atomic.Pointer[life.Progress]
	began      time.Time
	lastLogged time.Time // when progress was logged last

	pending      int           // records folded since the last drain
	pendingSince time.Time     // when the first of them was
	lastFull     time.Time     // time of the last drain of everything
	lastFanout   int           // number of records in it
	lastRecords  time.Time     // time of the last drain of channel records
	recordsTook  time.Duration // how long those took to be acknowledged
	joins        time.Duration // how long changes are joined instead of FanoutDelay (joinsFor); 0: no longer
	flight       *flight       // published records, and possibly a cut, that wait for acknowledgements
	acked        projections.Position
	stored       projections.Position
	cutting      bool // a cut is being applied, or held
	pendingCut   pendingCut
	listing      bool // not all cold channels are listed
	folding      bool // the next step folds records
	diskFull     bool // the disk is full: nothing is folded and no cut is taken
	lastCut      time.Time
	foldTook     time.Duration // since lastCut
	stopping     inbox.StopKind
	err          error // why it stops by itself
}

// flight is a set of records that is being published.
type flight struct {
	position projections.Position
	full     bool      // it completes everything up to position
	channels bool      // it includes the channel records
	cut      setup.Cut // nil: no cut was taken
	began    time.Time
	records  int
	oldest   int64 // timestamp of the oldest record folded since the previous full drain; 0: none, or not a full drain
}

// step does all work that is due now. It returns how long the goroutine may sleep unless the inbox
// wakes it, and whether the partition has ended.
func (w *Worker) step(now time.Time) (sleep time.Duration, ended bool) {
	w.receive(now)
	w.checkDisk()
	w.bad.Due(now, w.logBad)
	w.writePendingCut(now)
	if w.stopping == inbox.StopAbort {
		// A cut that is being applied is acknowledged. Wait for it, because it uses the store.
		if w.diskFull {
			w.Home.Space.GiveUp()
		}
		return time.Hour, !w.cutting
	}
	var waitUntil time.Time
	if w.stopping == inbox.StopNone && w.mayFold() {
		waitUntil = w.foldSome(now)
	}
	switch {
	case w.stopping != inbox.StopNone:
	case w.replaying:
		w.advanceOpening(now)
	case w.Life.State() == life.CatchingUp:
		w.goLiveAtGoal(now)
	}
	if w.stopping == inbox.StopAbort {
		return 0, false
	}
	w.drainIfDue(now, !waitUntil.IsZero())
	w.folding = waitUntil.IsZero() && w.mayFold() && w.merge.Any()
	w.list(now)
	switch w.stopping {
	case inbox.StopAbort:
		return 0, false
	case inbox.StopClean:
		if w.diskFull && w.published() {
			w.Home.Space.GiveUp() // what is not stored will be folded again
		}
		if w.Home.Space.GaveUp() {
			return w.pendingCut.wait(now), !w.cutting
		}
		return w.pendingCut.wait(now), w.settled()
	case inbox.StopNone:
	}
	return w.idle(now, waitUntil), false
}

// receive handles the news from the inbox.
func (w *Worker) receive(now time.Time) {
	n := w.Inbox.Take()
	if n.Stop > w.stopping {
		w.stopping = n.Stop
		if w.err == nil {
			w.Life.To(life.Stopping)
		}
		w.endCompaction()
	}
	if n.Failed != nil {
		w.fail(n.Failed, inbox.StopClean)
	}
	var known [events.NumInputs]int64
	for i := range n.Fetched {
		for _, f := range n.Fetched[i] {
			if f.Batches != nil {
				w.merge.AddBatches(events.Input(i), merge.Source{Topic: w.cfg.Topics.Inputs[i], Partition: w.Number}, f.Batches, f.Next, f.End)
				continue
			}
			for _, r := range w.merge.Add(events.Input(i), f.Records, f.End) {
				known[i] += merge.RecordBytes(r)
			}
		}
		w.ends[i].Store(w.merge.End(events.Input(i)))
	}
	w.Inbox.Consumed(known)
	w.receiveStandby(now, &n)
	if n.Applied != nil {
		w.applied(n.Applied.Err)
	}
	if n.Published != nil {
		w.delivered(now, n.Published.Err)
	}
}

// mayFold limits the unpublished changes and the unwritten dirty state. While the disk is full it
// returns false.
func (w *Worker) mayFold() bool {
	return !w.diskFull && (w.replaying || (w.joins > 0 || w.pending < 4*w.cfg.BatchRecords) && w.Fold.Undrained(false) < w.cfg.UndrainedPairs) &&
		w.Fold.DirtyBytes() < 2*w.cutBytes() && !(w.cutting && w.Fold.Crowded() > crowdedFold)
}

// published reports whether everything that was folded is acknowledged.
func (w *Worker) published() bool { return w.flight == nil && w.acked == w.Fold.Position() }

// settled reports whether a stopping partition has nothing left to do.
func (w *Worker) settled() bool { return !w.cutting && w.published() && w.stored == w.Fold.Position() }

// idle is how long the goroutine may sleep.
func (w *Worker) idle(now time.Time, waitUntil time.Time) time.Duration {
	rest := w.merge.Rest(now)
	if w.lists() || w.folding {
		return 0
	}
	sleep := time.Hour
	wakeAt := func(t time.Time) {
		if !t.IsZero() {
			sleep = min(sleep, max(t.Sub(now), 0))
		}
	}
	wakeAt(waitUntil)
	wakeAt(rest)
	wakeAt(w.bad.Next())
	if w.diskFull {
		return min(sleep, home.SpaceEvery)
	}
	if w.flight == nil && !w.replaying && w.unpublished() {
		wakeAt(w.dueAt(waitUntil.IsZero() && w.merge.Any()))
	}
	if w.flight == nil {
		wakeAt(w.cutDueAt(now))
	}
	if w.pendingCut.cut != nil {
		wakeAt(w.pendingCut.until)
	}
	return sleep
}

// run steps until the partition has ended.
func (w *Worker) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		sleep, ended := w.safeStep()
		if ended {
			return
		}
		if sleep == 0 {
			continue
		}
		timer.Reset(sleep)
		select {
		case <-w.Inbox.Wake:
		case <-timer.C:
		}
	}
}

// safeStep runs step; a panic in it fails only this partition. The goroutine continues to step
// until a cut in progress is written, so that the store is not closed meanwhile.
func (w *Worker) safeStep() (sleep time.Duration, ended bool) {
	err := guard.Do("its worker", func() {
		sleep, ended = w.step(w.cfg.Now())
		w.Inbox.Starved.Store(w.mayFold() && (sleep > 0 || w.lists() && !w.folding))
	})
	if err != nil {
		w.fail(failure.Passing(fmt.Errorf("partition %d: %w", w.Number, err)), inbox.StopAbort)
		return 0, false
	}
	return sleep, ended
}
