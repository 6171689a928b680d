package steps

import (
	"cmp"
	"time"

	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/inbox"
)

// listSome is how many cold channels are listed between two batches of records. It takes about a
// millisecond.
const listSome = 128

// lists reports whether cold channels are to be listed. Until they all are, queries about a user get
// life.ErrListing.
func (w *Worker) lists() bool { return w.listing && w.stopping == inbox.StopNone }

// list lists some cold channels. A partition that opens folds all its records first, so that it is
// live soon.
func (w *Worker) list(now time.Time) {
	if !w.lists() || !w.standby && w.Live.Load() == nil && w.merge.Any() {
		return
	}
	err := w.guarded(func() (err error) { w.listing, err = w.Fold.List(cmp.Or(w.cfg.ListChannels, listSome)); return err })
	switch {
	case err != nil:
		w.fail(failure.OfStore(err), inbox.StopAbort)
	case !w.listing:
		w.log.Info("partition knows all channels of its users", "partition", w.Number, "after", now.Sub(w.began))
	}
}
