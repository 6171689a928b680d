package steps

import (
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

// A worker that is a standby folds a partition that another member owns. It publishes nothing and
// commits nothing, and writes its store like an owner. It is opened like any other worker, and
// keeps replaying until it is promoted.
//
// The invariant: a standby folds no further than the group's committed offsets. So the member that
// committed these offsets has published everything that the standby has folded. A promoted standby
// is like a partition whose store was a little behind: it replays up to the offsets committed by
// then, and publishes the changes after them. Changes that the old owner has published beyond its
// last commit are published again, with the same bytes.

// receiveStandby handles the news of a standby.
func (w *Worker) receiveStandby(now time.Time, n *inbox.News) {
	if n.Until != nil && w.standby {
		w.follow(*n.Until)
	}
	if n.Promoted != nil && w.standby {
		w.promote(now, n.Promoted)
	}
}

// follow lets a standby fold up to the group's offsets. It ignores offsets that are behind the
// store in any input: then an owner other than the current one has published what the standby has,
// and no owner has published the state that combines both.
func (w *Worker) follow(committed projections.Position) {
	if committed.Dominates(w.plan.Until) {
		w.plan.Until = committed
		w.merge.Limit(&committed)
	}
}

// promote makes a standby an opening owner. The store stays open, and fetched records are kept.
func (w *Worker) promote(now time.Time, o *opening.Order) {
	position := w.Fold.Position()
	w.standby = false
	w.plan, w.goal = o.Plan, o.Plan.Until
	w.plan.From = position
	if !o.Plan.Published {
		w.plan.Until = position // everything published before is folded: the replay ends here
	}
	w.merge.Limit(&w.plan.Until)
	for i := range o.Ends {
		w.merge.RaiseEnd(events.Input(i), o.Ends[i])
		w.ends[i].Store(w.merge.End(events.Input(i)))
	}
	w.began, w.lastLogged = now, now
	if w.stopping == inbox.StopNone {
		w.Life.To(life.CatchingUp)
	}
	remaining, _ := w.plan.Remaining(position)
	w.log.Info("standby becomes the owner", "partition", w.Number, "position", position, "until", w.plan.Until, "records", remaining)
}
