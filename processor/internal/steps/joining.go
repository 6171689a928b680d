package steps

import "time"

// A partition that is behind joins all changes for an eighth of how far it is behind, at most a
// second, if that is longer than FanoutDelay. Its values are old when they are published, so users
// hardly notice the wait. In exchange a delta covers more messages, and also its user's own reads: in
// busy channels an event costs the node and Redis half the CPU, and the partition catches up sooner.
const (
	joinShare = 8
	joinMost  = time.Second
)

// joinsFor returns how long changes are joined instead of FanoutDelay. It returns 0 if the partition is
// not behind, if no fan-out waits, or if UndrainedPairs have changed. backlog reports that there are
// more records to fold.
func (w *Worker) joinsFor(now time.Time, backlog bool) time.Duration {
	if !backlog || w.oldest == 0 || w.replaying {
		return 0
	}
	joins := min(now.Sub(time.UnixMilli(w.oldest))/joinShare, joinMost)
	pairs := w.Fold.Undrained(true)
	if joins <= w.cfg.FanoutDelay || max(pairs, w.pending) >= w.cfg.UndrainedPairs || pairs == w.Fold.Undrained(false) {
		return 0
	}
	return joins
}
