package gateway

import "time"

// ask is a question to a channel's owner: the counts of a user there that cannot be derived here.
type ask struct {
	user    *user
	channel string
}

const (
	maxAsks = 65_536 // how many may wait; beyond that a channel's counts stay as they are until its next change
	askers  = 4
	// askPause is how long to wait before an owner that did not answer is asked again.
	askPause = 500 * time.Millisecond
)

// ask queues a question about an entry, unless one is in progress. Called with the lock.
func (g *Gateway) ask(e *entry) {
	if e.asking || e.ch == nil {
		return
	}
	select {
	case g.asks <- ask{e.user, e.ch.id}: // not the view's id: a new entry has no view yet
		e.asking = true
	default:
		g.metrics.asksDropped.Inc()
	}
}
