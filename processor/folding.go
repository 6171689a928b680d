package processor

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// foldSome folds some records, lockRecords at most. If there are some but an input that is behind is waited for, it returns
// until when.
func (w *worker) foldSome(now time.Time) (waitUntil time.Time) {
	b := &w.batch
	b.items, waitUntil = w.merge.pick(now, b.items[:0], w.cfg.lockRecords)
	bytes, unreadable := w.merge.taken()
	if unreadable != nil {
		defer func() { w.fail(unreadable, stopClean) }()
	}
	if bytes != [events.NumInputs]int64{} {
		defer w.inbox.consumed(bytes)
	}
	if len(b.items) == 0 {
		return waitUntil
	}

	t0 := w.cfg.now()
	stop := b.decode(w.number, w.count, w.cfg.skips)
	t1 := w.cfg.now()
	w.metrics.phase(phaseDecode, t1.Sub(t0))
	if tripped := w.judge(); tripped != nil {
		stop = tripped
	}
	if at, err := b.fold(w.fold); err != nil {
		if at >= 0 {
			err = w.braked(err, b.items[at])
		}
		w.fail(err, stopAbort)
		return time.Time{}
	}
	w.metrics.phase(phaseFold, w.cfg.now().Sub(t1))
	if err := w.fold.Err(); err != nil {
		w.fail(storeFailure(fmt.Errorf("partition %d: its store failed: %w", w.number, err)), stopAbort)
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
			"a broken producer drains into the dead letters; repair the producer, then restart with --no-breaker until "+
			"what it wrote is there", w.breaker.bad, len(w.breaker.bits), s.err))
		b.items, b.slots = b.items[:i], b.slots[:i]
		return err
	}
	return nil
}

// account counts what was folded, and copies what is bad to the dead letters.
func (w *worker) account() {
	b := &w.batch
	var last [events.NumInputs]*kgo.Record
	for i := range b.slots {
		s, it := &b.slots[i], &b.items[i]
		last[it.in] = it.rec
		switch {
		case s.control, w.standing: // the owner counts
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
	for in, r := range last {
		if r != nil {
			w.lastTime[in].Store(millisOf(r))
		}
	}
	w.metrics.flush()
}
