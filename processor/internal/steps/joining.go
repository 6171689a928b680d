package steps

import "time"

// joinShare is the share of how far a partition is behind for which it joins all changes, for at
// most JoinDelay, if that is longer than FanoutDelay. Its values are old anyway, so users hardly
// notice. A delta then covers more messages, and its user's own reads. In channels of 50 members an
// event costs about half the CPU.
const joinShare = 8

// joinsFor returns how long changes are joined instead of FanoutDelay. It returns 0 while the
// partition replays, if it is not behind, if no fan-out waits, or if dead letters, UndrainedPairs
// pairs or as many records wait. Timestamps of records tell how far it is behind.
func (w *Worker) joinsFor(now time.Time) time.Duration {
	if w.replaying || w.oldest <= 0 || len(w.dead) > 0 {
		return 0
	}
	joins := min(now.Sub(time.UnixMilli(w.oldest))/joinShare, w.cfg.JoinDelay)
	pairs := w.Fold.Undrained(true)
	if joins <= w.cfg.FanoutDelay || max(pairs, w.pending) >= w.cfg.UndrainedPairs || pairs == w.Fold.Undrained(false) {
		return 0
	}
	return joins
}

// fanoutAt returns when the next fan-out is due while there is a backlog.
func (w *Worker) fanoutAt() time.Time { return w.lastFull.Add(max(w.cfg.FanoutDelay, w.joins)) }
