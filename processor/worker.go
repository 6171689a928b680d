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
	silent   bool // what is folded was published before
	opening  atomic.Pointer[openingProgress]
	began    time.Time
	lastSaid time.Time // when progress was logged last

	pending      int       // records folded since the last drain
	pendingSince time.Time // when the first of them was
	lastFull     time.Time // of the last drain of everything
	flight       *flight   // what waits for acknowledgements
	acked        projections.Position
	stored       projections.Position
	cutting      bool // a cut is being applied
	lastCut      time.Time
	stopping     stopKind
	err          error // why it stops by itself
}

// flight is a set of records that is being published.
type flight struct {
	position projections.Position
	full     bool // everything up to position is in it or was before
	cut      cut  // nil: none was taken
	began    time.Time
	records  int
}

// step does what there is to do now. It returns how long nothing more is to be done, unless the inbox wakes the
// goroutine earlier, and whether the partition has ended.
func (w *worker) step(now time.Time) (sleep time.Duration, ended bool) {
	w.receive(now)
	if w.stopping == stopAbort {
		// A cut that is being applied was acknowledged: it is waited for, since it uses the store.
		return time.Hour, !w.cutting
	}
	var waitUntil time.Time
	if w.stopping == stopNone && w.mayFold() {
		waitUntil = w.foldSome(now)
	}
	if w.silent && w.stopping == stopNone {
		w.advanceOpening(now)
	}
	if w.stopping == stopAbort {
		return 0, false
	}
	w.drainIfDue(now, !waitUntil.IsZero())
	switch w.stopping {
	case stopAbort:
		return 0, false
	case stopClean:
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
	for i := range n.fetched {
		for _, f := range n.fetched[i] {
			w.merge.add(events.Input(i), f.records, f.end)
		}
		w.ends[i].Store(w.merge.streams[i].end)
	}
	if n.applied != nil {
		w.applied(n.applied.err)
	}
	if n.published != nil {
		w.published(now, n.published.err)
	}
}

// mayFold bounds what is folded and not yet published, and what is dirty and not yet written.
func (w *worker) mayFold() bool {
	return (w.silent || w.pending < 4*w.cfg.BatchRecords) && w.fold.DirtyBytes() < 2*w.cfg.CutBytes
}

// foldSome folds up to lockRecords records. If there are some but an input that is behind is waited for, it returns
// until when.
func (w *worker) foldSome(now time.Time) (waitUntil time.Time) {
	b := &w.batch
	b.items, waitUntil = w.merge.pick(now, b.items[:0], lockRecords)
	if len(b.items) == 0 {
		return waitUntil
	}
	var bytes [events.NumInputs]int64
	for _, it := range b.items {
		bytes[it.in] += recordBytes(it.rec)
	}
	defer w.inbox.consumed(bytes)

	t0 := w.cfg.now()
	stop := b.decode(w.number, w.count)
	t1 := w.cfg.now()
	w.metrics.phase(phaseDecode, t1.Sub(t0))
	if tripped := w.judge(); tripped != nil {
		stop = tripped
	}
	if err := b.fold(w.fold); err != nil {
		w.fail(err, stopAbort)
		return time.Time{}
	}
	w.metrics.phase(phaseFold, w.cfg.now().Sub(t1))
	if err := w.fold.Err(); err != nil {
		w.fail(fmt.Errorf("partition %d: its store failed: %w", w.number, err), stopAbort)
		return time.Time{}
	}
	if w.pending == 0 {
		w.pendingSince = now
	}
	w.pending += len(b.slots)
	w.account()
	w.progress.advance(w.fold.Position())
	if stop != nil {
		w.fail(stop, stopClean)
	}
	clear(b.items) // let go of the records
	return time.Time{}
}

// judge lets the breaker look at what was decoded. If it trips, the batch ends before the record that tripped it. What
// only the fold refuses, for being too much, is one user's doing and no reason to stop the others.
func (w *worker) judge() error {
	if w.silent {
		return nil // it was judged when it was folded first
	}
	b := &w.batch
	for i := range b.slots {
		s := &b.slots[i]
		if s.control || !w.breaker.note(s.err != nil) {
			continue
		}
		err := b.recordError(i, fmt.Errorf("%d of the last %d records are bad, this one because: %w: the partition stops before "+
			"a broken producer drains into the dead letters; repair the producer, then start with the breaker off to put "+
			"what it wrote there", w.breaker.bad, len(w.breaker.bits), s.err))
		b.items, b.slots = b.items[:i], b.slots[:i]
		return err
	}
	return nil
}

// account counts what was folded, and copies what is bad to the dead letters.
func (w *worker) account() {
	b := &w.batch
	for i := range b.slots {
		s, it := &b.slots[i], &b.items[i]
		w.lastTime[it.in].Store(millisOf(it.rec))
		switch {
		case s.control:
			continue
		case s.err == nil:
			w.metrics.folded(s.kind, s.outcome, s.clock)
			continue
		}
		if w.silent {
			continue // it is among the dead letters
		}
		reason := reasonOf(s.err)
		w.metrics.deadLetter(it.in, reason)
		w.log.Warn("bad record goes to the dead letters", "topic", it.rec.Topic, "partition", it.rec.Partition,
			"offset", it.rec.Offset, "reason", string(reason), "err", s.err)
		w.dead = append(w.dead, deadLetter(w.cfg.Topics.DeadLetters, it.rec, s.err))
	}
	w.metrics.flush()
}

// drainIfDue drains what has changed and publishes it, if it is time to and nothing else is in flight. waiting says
// that records are at hand which are waited with.
func (w *worker) drainIfDue(now time.Time, waiting bool) {
	if w.flight != nil {
		return
	}
	position := w.fold.Position()
	backlog := !waiting && w.stopping == stopNone && w.merge.any()
	dirty := position != w.stored
	cutDue := !w.cutting && dirty &&
		(w.stopping != stopNone || w.fold.DirtyBytes() >= w.cfg.CutBytes || now.Sub(w.lastCut) >= w.cfg.CutEvery)
	fanoutDue := now.Sub(w.lastFull) >= w.cfg.FanoutDelay
	held := w.acked != position // something is folded or drained in part that is not published
	switch {
	case cutDue:
	case w.silent || !held:
		return
	case !backlog:
	case w.pending >= w.cfg.BatchRecords || w.pending > 0 && now.Sub(w.pendingSince) >= w.cfg.BatchTime:
	case w.pending == 0 && fanoutDue:
	default:
		return
	}
	w.drain(now, !backlog || fanoutDue || cutDue, cutDue)
}

// drain drains, everything or all but the fan-out, and sends it off.
func (w *worker) drain(now time.Time, full, withCut bool) {
	f := &flight{full: full, began: now}
	w.deltas.Reset()
	t0 := w.cfg.now()
	if err := w.locked(func() error {
		w.fold.Drain(&w.deltas, full)
		f.position = w.fold.Position()
		return nil
	}); err != nil {
		w.fail(err, stopAbort)
		return
	}
	t1 := w.cfg.now()
	w.metrics.phase(phaseDrain, t1.Sub(t0))
	if withCut {
		if err := w.locked(func() (err error) { f.cut, err = w.fold.takeCut(); return err }); err != nil {
			w.fail(err, stopAbort)
			return
		}
		w.metrics.phase(phaseCut, w.cfg.now().Sub(t1))
		w.lastCut = now
	}
	if full {
		w.lastFull = now
	}
	if !w.silent {
		w.metrics.batch(w.pending, len(w.deltas.Records))
		w.hub.note(w.deltas.Records)
	}
	w.pending = 0
	w.flight = f
	if w.silent || len(w.deltas.Records)+len(w.dead) == 0 {
		w.published(now, nil)
		return
	}
	f.records = len(w.deltas.Records) + len(w.dead)
	w.out.publish(w, w.outgoing())
}

// locked runs f under the partition's lock and turns a panic into an error.
func (w *worker) locked(f func() error) (err error) {
	w.fold.Lock()
	defer w.fold.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("partition %d at position %v: %w", w.number, w.fold.Position(), newPanic("its projection", p))
		}
	}()
	if err := f(); err != nil {
		return fmt.Errorf("partition %d at position %v: %w", w.number, w.fold.Position(), err)
	}
	return nil
}

// outgoing is what was drained as records for the client, and the dead letters. Keys and values stay where they are.
func (w *worker) outgoing() []*kgo.Record {
	n := len(w.deltas.Records)
	if cap(w.records) < n {
		w.records = make([]kgo.Record, n)
	}
	w.records = w.records[:n]
	out := make([]*kgo.Record, 0, n+len(w.dead))
	for i := range w.deltas.Records {
		d := &w.deltas.Records[i]
		topic := w.cfg.Topics.Unread
		if d.Topic == projections.OutChannels {
			topic = w.cfg.Topics.Channels
		}
		w.records[i] = kgo.Record{Topic: topic, Partition: d.Partition, Key: d.Key, Value: d.Value}
		out = append(out, &w.records[i])
	}
	out = append(out, w.dead...)
	w.dead = nil
	return out
}

// published takes the outcome of the set in flight.
func (w *worker) published(now time.Time, err error) {
	f := w.flight
	w.flight = nil
	switch {
	case f == nil:
		return
	case err != nil:
		w.fail(fmt.Errorf("partition %d: publishing the changes up to position %v: %w", w.number, f.position, err), stopAbort)
		return
	}
	if f.records > 0 {
		w.metrics.phase(phasePublish, now.Sub(f.began))
	}
	if !f.full {
		return
	}
	w.acked = f.position
	if !w.silent {
		w.out.acknowledged(w.number, f.position)
	}
	if f.cut != nil {
		w.cutting = true
		w.out.apply(w, f.cut)
	}
}

// applied takes the outcome of a cut's writing.
func (w *worker) applied(err error) {
	w.cutting = false
	if err != nil {
		w.fail(fmt.Errorf("partition %d: %w", w.number, err), stopAbort)
		return
	}
	w.stored = w.fold.StoredPosition()
}

// settled reports whether a partition that stops has nothing left to do.
func (w *worker) settled() bool {
	if w.flight != nil || w.cutting {
		return false
	}
	position := w.fold.Position()
	return w.acked == position && w.stored == position
}

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
