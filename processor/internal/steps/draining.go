package steps

import (
	"fmt"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/metrics"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/projections"
)

// drainIfDue drains and publishes the changes, if that is due and nothing is in flight. waiting
// reports that the merge holds records back until an input that is behind catches up.
func (w *Worker) drainIfDue(now time.Time, waiting bool) {
	w.joins = w.joinsFor(now)
	if w.flight != nil {
		return
	}
	backlog := !waiting && w.stopping == inbox.StopNone && w.merge.Any()
	cutAt := w.cutDueAt(now)
	cutDue := !cutAt.IsZero() && !now.Before(cutAt)
	fanoutDue := !now.Before(w.fanoutAt())
	rested := w.stopping != inbox.StopNone || !now.Before(w.restsUntil())
	switch {
	case cutDue:
	case w.replaying || !w.unpublished():
		return
	case !backlog && (rested || w.pending > 0):
	case w.Fold.Undrained(false) >= w.cfg.UndrainedPairs:
	case w.joins > 0 && !fanoutDue:
		return
	case w.pending >= w.cfg.BatchRecords || w.pending > 0 && now.Sub(w.pendingSince) >= w.cfg.BatchTime:
	case (w.joins > 0 || w.pending == 0) && fanoutDue:
	default:
		return
	}
	records := !backlog || now.Sub(w.lastRecords) >= min(recordsShare*w.recordsTook, w.cfg.FanoutDelay)
	w.drain(now, !backlog && rested || fanoutDue || cutDue, records, cutDue)
}

// A partition with more than cutEasily dirty bytes is cut cutRarely times less often than one with
// fewer. A cut writes each changed record once, however often it has changed since the last cut.
// With direct messages, a cut every 200,000 events costs half the CPU and half the written bytes
// per event of a cut every 20,000.
const (
	cutEasily = 256 << 10
	cutRarely = 10
)

// Channels leave memory with a cut. When channels take crowdedCut times the memory that they should,
// cuts are made crowdedOften times as often. At crowdedFold times, folding waits for a cut in
// progress.
const (
	crowdedCut   = 1.25
	crowdedOften = 4
	crowdedFold  = 2
)

// While channels are cold, a cut is made CutEvery after the last one once folding has taken cutFolded
// since, whatever is dirty: loading cold channels makes records dear, and a crash folds them again.
const cutFolded = 100 * time.Millisecond

// cutDueAt returns when the next cut is due: now, if the partition stops or cutBytes are dirty; else
// CutEvery after the last one, or cutRarely times that if much is dirty and a crash would cost little, or
// earlier if channels have to leave memory.
// It is zero if no cut can be taken or there is nothing to store.
func (w *Worker) cutDueAt(now time.Time) time.Time {
	switch {
	case w.cutting || w.diskFull || w.Home.Space.GaveUp() || w.Fold.Position() == w.stored:
		return time.Time{}
	case w.stopping != inbox.StopNone || w.Fold.DirtyBytes() >= w.cutBytes():
		return now
	case w.Fold.Crowded() > crowdedCut:
		return w.lastCut.Add(w.cfg.CutEvery / crowdedOften)
	case w.Fold.DirtyBytes() > cutEasily && !w.foldedLong():
		return w.lastCut.Add(cutRarely * w.cfg.CutEvery)
	}
	return w.lastCut.Add(w.cfg.CutEvery)
}

// foldedLong reports whether folding has taken so long since the last cut, beside cold channels, that a
// crash would cost too much.
func (w *Worker) foldedLong() bool {
	return !w.replaying && w.foldTook >= cutFolded && w.Fold.AnyCold()
}

// cutBytes returns how many dirty bytes make a cut due. A partition that replays answers no
// queries, so no query waits for its lock, and its cuts may be large.
func (w *Worker) cutBytes() int64 {
	if !w.replaying {
		return w.cfg.CutBytes
	}
	return max(w.cfg.CutBytes, w.Fold.RareCut())
}

// unpublished reports whether anything that was folded is not acknowledged yet.
func (w *Worker) unpublished() bool { return w.acked != w.Fold.Position() }

// fanoutRest is how long the next fan-out waits for each delta of the last one, up to FanoutDelay.
// A delta costs some 20 us of CPU in a broker, a cache, a gateway and a client together. In a busy
// channel the next message outdates a value, so values are published less often; in an idle channel
// nothing waits.
const fanoutRest = 200 * time.Microsecond

// restsUntil returns when the next fan-out is due while there is no backlog.
func (w *Worker) restsUntil() time.Time {
	return w.lastFull.Add(min(time.Duration(w.lastFanout)*fanoutRest, w.cfg.FanoutDelay))
}

// dueAt returns when drainIfDue publishes the unpublished changes, unless a cut is due or something
// happens earlier. With a backlog a partition sleeps only while folding waits for a cut to be
// written; it publishes the folded changes meanwhile. While changes are joined, they may be due a
// little later, because the partition falls further behind.
func (w *Worker) dueAt(backlog bool) time.Time {
	switch {
	case !backlog:
		return w.restsUntil()
	case w.joins == 0 && w.pending > 0:
		return w.pendingSince.Add(w.cfg.BatchTime)
	default:
		return w.fanoutAt()
	}
}

// recordsShare limits the pause between two drains of channel records while there is a backlog:
// recordsShare times as long as the last ones took to publish, and at most FanoutDelay. A reader of
// a large channel learns of a message from the channel record, so these do not wait for the
// fan-out, which has many times as many records.
const recordsShare = 4

// drain collects pending output and publishes it. full includes the fan-out; records includes
// channel records.
func (w *Worker) drain(now time.Time, full, records, withCut bool) {
	f := &flight{full: full, began: now, channels: full || records && !w.replaying}
	w.deltas.Reset()
	deltas, replaying := &w.deltas, w.replaying
	if replaying {
		deltas = nil // a former owner has published these changes
	}
	t0 := w.cfg.Now()
	if err := w.guarded(func() error {
		w.Fold.Drain(deltas, full)
		if f.channels && !full {
			w.Fold.DrainRecords(deltas)
		}
		f.position = w.Fold.Position()
		return nil
	}); err != nil {
		w.fail(failure.OfStore(err), inbox.StopAbort)
		return
	}
	t1 := w.cfg.Now()
	w.metrics.Phase(metrics.PhaseDrain, t1.Sub(t0))
	if withCut {
		if err := w.guarded(func() (err error) { f.cut, err = w.Fold.TakeCut(); return err }); err != nil {
			w.fail(failure.OfStore(err), inbox.StopAbort)
			return
		}
		w.metrics.Phase(metrics.PhaseCut, w.cfg.Now().Sub(t1))
		w.lastCut, w.foldTook = now, 0
	}
	if full {
		w.lastFull, w.lastFanout = now, len(w.deltas.Records)
		f.oldest, w.oldest = w.oldest, 0
	}
	if f.channels {
		w.lastRecords = now
	}
	if !replaying {
		w.metrics.Batch(w.pending, len(w.deltas.Records))
		w.Hub.note(w.deltas.Records, w.Fold.Projection())
	}
	w.pending = 0
	w.flight = f
	if replaying || len(w.deltas.Records)+len(w.dead) == 0 {
		w.traced.drained(full)
		w.delivered(now, nil)
		return
	}
	f.records = len(w.deltas.Records) + len(w.dead)
	w.out.Publish(w, w.outgoing())
	w.traced.drained(full)
}

// guarded runs f, which takes the partition's lock itself, and turns a panic into an error.
func (w *Worker) guarded(f func() error) error {
	if err := guard.Err("its projection", f); err != nil {
		return fmt.Errorf("partition %d at position %v: %w", w.Number, w.Fold.Position(), err)
	}
	return nil
}

// outgoing returns what is to be published: the drained changes, whose memory stays in use until the
// outcome is known, and the dead letters.
func (w *Worker) outgoing() outputs.Outgoing {
	topics := &w.cfg.Topics
	o := outputs.Outgoing{Deltas: w.deltas.Records, Dead: w.dead, Topics: [...]string{
		projections.OutUnread: topics.Unread, projections.OutChannels: topics.Channels, projections.OutReceipts: topics.Receipts,
	}}
	if w.cfg.Trace != nil {
		o.Headers = w.traced.publishes(w.cfg.Trace, o.Deltas, w.cfg.Now())
	}
	w.dead = nil
	return o
}

// delivered handles the outcome of the set in flight.
func (w *Worker) delivered(now time.Time, err error) {
	f := w.flight
	w.flight = nil
	trace := w.traced.published(w.cfg.Now, err)
	switch {
	case f == nil:
		return
	case err != nil:
		w.fail(failure.OfPublishing(fmt.Errorf("partition %d: publishing the changes up to position %v: %w", w.Number, f.position, err)), inbox.StopAbort)
		return
	}
	if f.records > 0 {
		w.metrics.Phase(metrics.PhasePublish, now.Sub(f.began))
		if f.oldest > 0 {
			w.metrics.ToBadge(max(now.Sub(time.UnixMilli(f.oldest)), 0), trace)
		}
	}
	if f.channels {
		w.recordsTook = now.Sub(f.began)
	}
	if !f.full {
		return
	}
	w.acked = f.position
	if !w.replaying {
		w.out.Acknowledged(w.Number, f.position)
	}
	if f.cut != nil {
		w.write(now, f)
	}
}

// applied handles the outcome of writing a cut.
func (w *Worker) applied(err error) {
	w.cutting = false
	if err != nil && w.Home.Space.GaveUp() {
		w.log.Warn("the disk is full: the last records are not stored, and will be folded again", "partition", w.Number, "err", err)
		return
	}
	if err != nil {
		w.fail(failure.OfStore(fmt.Errorf("partition %d: %w", w.Number, err)), inbox.StopAbort)
		return
	}
	w.stored = w.Fold.StoredPosition()
	w.Home.Folded(w.stored)
	if err := w.guarded(func() error { w.Fold.Rest(); return w.Fold.Err() }); err != nil {
		w.fail(failure.OfStore(err), inbox.StopAbort)
	}
}
