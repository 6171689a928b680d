package processor

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/projections"
)

// drainIfDue drains what has changed and publishes it, if it is time to and nothing else is in flight. waiting says
// that records are at hand which are waited with.
func (w *worker) drainIfDue(now time.Time, waiting bool) {
	if w.flight != nil {
		return
	}
	position := w.fold.Position()
	backlog := !waiting && w.stopping == stopNone && w.merge.any()
	dirty := position != w.stored
	cutDue := !w.cutting && !w.full && !w.room.gaveUp() && dirty &&
		(w.stopping != stopNone || w.fold.DirtyBytes() >= w.cutBytes() || now.Sub(w.lastCut) >= w.cfg.CutEvery)
	fanoutDue := now.Sub(w.lastFull) >= w.cfg.FanoutDelay
	rested := w.stopping != stopNone || !now.Before(w.restsUntil())
	switch {
	case cutDue:
	case w.silent || !w.held():
		return
	case !backlog && (rested || w.pending > 0):
	case w.fold.Undrained() >= maxUndrained:
	case w.pending >= w.cfg.BatchRecords || w.pending > 0 && now.Sub(w.pendingSince) >= w.cfg.BatchTime:
	case w.pending == 0 && fanoutDue:
	default:
		return
	}
	records := !backlog || now.Sub(w.lastRecords) >= min(recordsShare*w.recordsTook, w.cfg.FanoutDelay)
	w.drain(now, !backlog && rested || fanoutDue || cutDue, records, cutDue)
}

// cutBytes is how much is dirty when the store is written. Of a silent partition nobody asks anything, so that nobody waits
// while it is cut, and its cuts may be large.
func (w *worker) cutBytes() int64 {
	if !w.silent {
		return w.cfg.CutBytes
	}
	return max(w.cfg.CutBytes, w.fold.RareCut())
}

// held reports whether something is folded, or drained in part, that is not published.
func (w *worker) held() bool { return w.acked != w.fold.Position() }

// fanoutRest is how long, for each delta of the last fan-out, the next one is joined, up to FanoutDelay. A delta costs
// some 20 us of processors by the time that a broker, a cache, a gateway and a client have had it: busy channels say less
// often, and to fewer, what is true only until their next message; in quiet ones nobody waits.
const fanoutRest = 200 * time.Microsecond

// restsUntil is when the next fan-out is due while there is no backlog.
func (w *worker) restsUntil() time.Time {
	return w.lastFull.Add(min(time.Duration(w.lastFanout)*fanoutRest, w.cfg.FanoutDelay))
}

// dueAt is when drainIfDue has something to do of what is held, unless something happens before. With a backlog a partition
// sleeps only while folding waits for a cut to be written: what is folded already does not wait for that.
func (w *worker) dueAt(backlog bool) time.Time {
	switch {
	case !backlog:
		return w.restsUntil()
	case w.pending > 0:
		return w.pendingSince.Add(w.cfg.BatchTime)
	default:
		return w.lastFull.Add(w.cfg.FanoutDelay)
	}
}

// recordsShare is how many times as long as it took to publish channels' records they are joined while there is a
// backlog: who waits for a message waits for its channel's record, so where publishing is quick the records are not held
// back for FanoutDelay with the deltas of members, which are many times as many.
const recordsShare = 4

// drain drains, everything or all but the fan-out, of that the channels' records if they are due, and sends it off.
func (w *worker) drain(now time.Time, full, records, withCut bool) {
	f := &flight{full: full, began: now, channels: full || records && !w.silent}
	w.deltas.Reset()
	deltas, silent := &w.deltas, w.silent
	if silent {
		deltas = nil // what was published before is not made again
	}
	t0 := w.cfg.now()
	if err := w.locked(func() error {
		w.fold.Drain(deltas, full)
		if f.channels && !full {
			w.fold.DrainRecords(deltas)
		}
		f.position = w.fold.Position()
		return nil
	}); err != nil {
		w.fail(storeFailure(err), stopAbort)
		return
	}
	t1 := w.cfg.now()
	w.metrics.phase(phaseDrain, t1.Sub(t0))
	if withCut {
		if err := w.locked(func() (err error) { f.cut, err = w.fold.takeCut(); return err }); err != nil {
			w.fail(storeFailure(err), stopAbort)
			return
		}
		w.metrics.phase(phaseCut, w.cfg.now().Sub(t1))
		w.lastCut = now
	}
	if full {
		w.lastFull, w.lastFanout = now, len(w.deltas.Records)
	}
	if f.channels {
		w.lastRecords = now
	}
	if !silent {
		w.metrics.batch(w.pending, len(w.deltas.Records))
		w.hub.note(w.deltas.Records)
	}
	w.pending = 0
	w.flight = f
	if silent || len(w.deltas.Records)+len(w.dead) == 0 {
		w.delivered(now, nil)
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
		switch d.Topic {
		case projections.OutChannels:
			topic = w.cfg.Topics.Channels
		case projections.OutReceipts:
			topic = w.cfg.Topics.Receipts
		}
		w.records[i] = kgo.Record{Topic: topic, Partition: d.Partition, Key: d.Key, Value: d.Value}
		out = append(out, &w.records[i])
	}
	out = append(out, w.dead...)
	w.dead = nil
	return out
}

// delivered takes the outcome of the set in flight.
func (w *worker) delivered(now time.Time, err error) {
	f := w.flight
	w.flight = nil
	switch {
	case f == nil:
		return
	case err != nil:
		w.fail(publishFailure(fmt.Errorf("partition %d: publishing the changes up to position %v: %w", w.number, f.position, err)), stopAbort)
		return
	}
	if f.records > 0 {
		w.metrics.phase(phasePublish, now.Sub(f.began))
	}
	if f.channels {
		w.recordsTook = now.Sub(f.began)
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
	if err != nil && w.room.gaveUp() {
		w.log.Warn("what was folded last is not stored and will be folded again: the disk is full", "partition", w.number, "err", err)
		return
	}
	if err != nil {
		w.fail(storeFailure(fmt.Errorf("partition %d: %w", w.number, err)), stopAbort)
		return
	}
	w.stored = w.fold.StoredPosition()
	w.unbrake()
}
