package steps

import (
	"errors"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
)

// A failed partition is opened again after a while if the cause may pass by itself: a disk error, a
// store in use by another process, a missing right, a panic. A record at which the fold panics
// repeatedly parks its partition (brake.go). If only a person can help (refusals, a newer version,
// the breaker), the partition stays failed until a restart or a new assignment.

const (
	retryFirst = time.Second
	retryLast  = time.Minute
	// retryForget is how long a partition must have run before its next failure counts as the
	// first.
	retryForget = 5 * time.Minute
)

// retryAfter returns the pause before attempt n, from 1 on.
func retryAfter(n int) time.Duration { return min(retryFirst<<min(n-1, 10), retryLast) }

// retry opens the partition of a worker that has ended again, after a pause, if its failure may
// pass by itself and this process still owns the partition by then. The processor's standbys
// restart a failed standby instead, unless it failed while it became the owner.
func (w *Worker) retry() {
	err := w.Failure.Load()
	if err == nil || !failure.MayPass(*err) || !w.host.HasWorker(w) {
		return
	}
	tries := w.tries + 1
	if w.cfg.Now().Sub(w.began) > retryForget && !w.began.IsZero() {
		tries = 1
	}
	pause := retryAfter(tries)
	if w.cfg.RetryAfter != nil {
		pause = w.cfg.RetryAfter(tries)
	}
	at := w.cfg.Now().Add(pause)
	w.retryAt.Store(&at)
	w.log.Info("partition is opened again after a failure", "partition", w.Number, "after", pause, "try", tries)
	guard.Go("the opening of a partition once more", guard.Log(w.log, "partition stays failed", "partition", w.Number), func() {
		select {
		case <-time.After(pause):
		case <-w.host.Ending():
			return
		}
		w.host.Reopen(w, func(next *Worker) {
			next.tries, next.reopened = tries, w.reopened
			next.Known.Store(w.Known.Load())
		})
	})
}

// fail stops the partition for good: in order if the state is still correct, else at once. From
// here on the partition is not live. Only the first error is kept and logged: later failures while
// the partition ends are its consequences or the same again.
func (w *Worker) fail(err error, how inbox.StopKind) {
	first, sooner := w.err == nil, how > w.stopping
	w.stopping = max(w.stopping, how)
	if first {
		w.err = err
		w.Failure.Store(&err)
		w.Live.Store(nil)
		w.Life.To(life.Failed)
	}
	attrs := []any{"partition", w.Number}
	var re *recordError
	if errors.As(err, &re) {
		attrs = append(attrs, "topic", re.topic, "offset", re.offset)
	}
	attrs = append(attrs, guard.Attrs(err)...)
	switch {
	case first:
		w.log.Error("partition stops", attrs...)
	case sooner:
		w.log.Warn("partition cannot stop in order and stops at once: its last records will be folded again", attrs...)
	default:
		w.log.Debug("partition failed again while it was stopping", attrs...)
	}
}
