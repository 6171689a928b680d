package steps

import (
	"cmp"
	"time"

	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/inbox"
)

// Cold channels are listed for as long as the rest of a step took, within these limits.
const (
	listFor     = time.Millisecond
	listAtMost  = 10 * time.Millisecond
	listBetween = 16 // channels between two looks at the clock
)

// lists reports whether cold channels are to be listed. Until they all are, queries about users get
// projections.ErrListing.
func (w *Worker) lists() bool { return w.listing && w.stopping == inbox.StopNone }

// list lists some cold channels. began is when the step began. A partition that opens folds the
// records that it has first, so that it is live soon.
func (w *Worker) list(began time.Time) {
	opens := !w.standby && w.Live.Load() == nil
	if !w.lists() || opens && w.folding {
		return
	}
	err := w.guarded(func() (err error) {
		since := w.cfg.Now()
		until := since.Add(min(max(since.Sub(began), listFor), listAtMost))
		for w.listing && err == nil {
			w.listing, err = w.Fold.List(cmp.Or(w.cfg.ListChannels, listBetween))
			if w.cfg.ListChannels > 0 || !w.cfg.Now().Before(until) {
				break
			}
		}
		return err
	})
	switch {
	case err != nil:
		w.fail(failure.OfStore(err), inbox.StopAbort)
	case !w.listing:
		w.log.Info("partition knows all channels of its users", "partition", w.Number, "after", began.Sub(w.began))
	}
}
