package steps

import (
	"cmp"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/merge"
	"github.com/tidemark/tidemark/processor/internal/metrics"
)

// foldSome folds at most lockRecords records. If there are records but the merge waits for an input
// that is behind, foldSome returns when that wait ends.
func (w *Worker) foldSome(now time.Time) (waitUntil time.Time) {
	b := &w.batch
	b.items, waitUntil = w.merge.Pick(now, b.items[:0], cmp.Or(w.cfg.LockRecords, lockRecords))
	bytes, unreadable := w.merge.Taken()
	if unreadable != nil {
		defer func() { w.fail(unreadable, inbox.StopClean) }()
	}
	if bytes != [events.NumInputs]int64{} {
		defer w.Inbox.Consumed(bytes)
	}
	if len(b.items) == 0 {
		return waitUntil
	}

	t0 := w.cfg.Now()
	stop := b.decode(w.Number, w.count, w.cfg.Skips)
	t1 := w.cfg.Now()
	w.metrics.Phase(metrics.PhaseDecode, t1.Sub(t0))
	if tripped := w.judge(); tripped != nil {
		stop = tripped
	}
	if at, err := b.fold(w); err != nil {
		if at >= 0 {
			err = w.Home.Panicked(err, b.items[at])
		} else {
			err = failure.OfStore(fmt.Errorf("partition %d: %w", w.Number, err))
		}
		w.fail(err, inbox.StopAbort)
		return time.Time{}
	}
	took := w.cfg.Now().Sub(t1)
	w.foldTook += took
	w.metrics.Phase(metrics.PhaseFold, took)
	if w.cfg.Trace != nil && !w.replaying {
		w.traced.folded(w.cfg.Trace, &w.batch, t0, w.cfg.Now())
	}
	if err := w.Fold.Err(); err != nil {
		w.fail(failure.OfStore(fmt.Errorf("partition %d: its store failed: %w", w.Number, err)), inbox.StopAbort)
		return time.Time{}
	}
	if w.pending == 0 {
		w.pendingSince = now
	}
	w.pending += len(b.slots)
	if w.oldest == 0 && len(b.items) > 0 {
		w.oldest = merge.MillisOf(b.items[0].Rec)
	}
	w.account()
	w.Progress.advance(w.Fold.Position())
	if stop != nil {
		w.fail(stop, inbox.StopClean)
	}
	clear(b.items) // release the records
	return time.Time{}
}

// judge passes the decoded records to the breaker. If the breaker trips, the batch ends before that
// record. Records that only the fold refuses, because they exceed a limit, do not count: one user
// causes those, and the partition goes on.
func (w *Worker) judge() error {
	if w.replaying {
		return nil // these records were judged when they were first folded
	}
	b := &w.batch
	for i := range b.slots {
		s := &b.slots[i]
		if s.control || !w.breaker.note(s.err != nil) {
			continue
		}
		err := b.recordError(i, fmt.Errorf("%d of the last %d records are bad, this one because: %w: the partition stops, so that a "+
			"broken producer does not drain into the dead letters; repair the producer, then restart with --no-breaker until its "+
			"records are through", w.breaker.bad, len(w.breaker.bits), s.err))
		b.items, b.slots = b.items[:i], b.slots[:i]
		return err
	}
	return nil
}

// account counts the folded records and copies bad ones to the dead letters.
func (w *Worker) account() {
	b := &w.batch
	var last [events.NumInputs]*kgo.Record
	for i := range b.slots {
		s, it := &b.slots[i], &b.items[i]
		last[it.In] = it.Rec
		switch {
		case s.control, w.standby: // the owner accounts for these records
			continue
		case s.err == nil:
			w.metrics.Folded(s.kind, s.outcome, s.clock)
			continue
		}
		if w.replaying {
			continue // it goes to the dead letters
		}
		reason := reasonOf(s.err)
		w.metrics.DeadLetter(it.In, reason)
		if reason == events.ReasonWrongPartition {
			w.metrics.Strangers.Note(w.log, it.In, it.Rec, w.count)
		}
		w.bad.Add(1, badRecord{idOf(it.Rec), reason, s.err})
		w.dead = append(w.dead, deadLetter(w.cfg.Topics.DeadLetters, it.Rec, s.err))
	}
	for in, r := range last {
		if r != nil {
			w.lastTime[in].Store(merge.MillisOf(r))
		}
	}
	w.metrics.Flush()
}

// badRecord is the last of several bad records that share one log line.
type badRecord struct {
	events.RecordID
	reason events.Reason
	err    error
}

// logBad logs that count records went to the dead letters, in one line that names the last of them.
func (w *Worker) logBad(b badRecord, count int) {
	w.log.Warn("bad record goes to the dead letters", "topic", b.Topic, "partition", b.Partition, "offset", b.Offset,
		"reason", string(b.reason), "err", b.err, "count", count)
}
