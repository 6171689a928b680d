package processor

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tidemark/tidemark/projections"
)

// A partition that failed is opened again after a while if what failed it may pass by itself: a disk that gave an error,
// a store that another process held, a right that was taken away, a record at which the fold panicked (brake.go). Where
// only a person can help (refusals, a newer version, the breaker) it stays failed until a restart or a new assignment.

// passing is an error whose cause may pass by itself.
type passing struct{ error }

// Unwrap lets the cause be found.
func (p passing) Unwrap() error { return p.error }

// mayPass reports whether it is worth trying again after err.
func mayPass(err error) bool {
	var p passing
	return errors.As(err, &p)
}

// openFailure marks why a store could not be opened, unless it says that something is not as it has to be.
func openFailure(err error) error {
	var mismatch *projections.MismatchError
	var p *panicError
	if errors.As(err, &mismatch) || errors.As(err, &p) || projections.IsCorrupt(err) {
		return err
	}
	return passing{err}
}

// storeFailure marks why a store in use could not be written or read.
func storeFailure(err error) error {
	var p *panicError
	if errors.As(err, &p) || projections.IsCorrupt(err) {
		return err
	}
	return passing{err}
}

// publishFailure marks why records were not taken, unless they never will be.
func publishFailure(err error) error {
	for _, never := range []error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.UnsupportedForMessageFormat} {
		if errors.Is(err, never) {
			return err
		}
	}
	return passing{err}
}

const (
	retryFirst = time.Second
	retryLast  = time.Minute
	// retryForget is how long a partition must have been there until the next failure is taken for a new one.
	retryForget = 5 * time.Minute
)

// retryAfter is the pause before try number n, from 1 on.
func retryAfter(n int) time.Duration { return min(retryFirst<<min(n-1, 10), retryLast) }

// again opens the partition of a worker that has ended once more, after a pause, if it failed for something that may pass
// and is still this process's by then.
func (w *worker) again() {
	err := w.failure.Load()
	if err == nil || !mayPass(*err) || w.standing || w.p.inputsOnly {
		return
	}
	tries := w.tries + 1
	if w.cfg.now().Sub(w.began) > retryForget && !w.began.IsZero() {
		tries = 1
	}
	pause := w.cfg.retryAfter(tries)
	at := w.cfg.now().Add(pause)
	w.retryAt.Store(&at)
	w.log.Info("partition is tried again", "partition", w.number, "after", pause, "try", tries)
	go func() {
		select {
		case <-time.After(pause):
		case <-w.p.stopping:
			return
		}
		w.p.reopen(w, func(next *worker) { next.tries, next.reopened = tries, w.reopened })
	}()
}
