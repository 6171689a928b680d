package wire

import (
	"context"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
)

// pingSteps are the steps of a round in which every connection is pinged once. With one step for
// all connections their pongs would come at once.
const pingSteps = 25

// round is which connection is pinged when: each at its own step, so that two of its pings are one
// round apart.
type round struct {
	step  int // the next, from 0 to pingSteps-1
	turns [pingSteps][]*Conn
}

// next returns the connections that are pinged now. One that comes during a round has its first
// turn in the next.
func (r *round) next(all func() []*Conn) []*Conn {
	if r.step == 0 {
		r.turns = [pingSteps][]*Conn{}
		for _, c := range all() {
			turn := c.number % pingSteps
			r.turns[turn] = append(r.turns[turn], c)
		}
	}
	due := r.turns[r.step]
	r.step = (r.step + 1) % pingSteps
	return due
}

// PingAll pings every connection once in each time of every, until ctx is done.
func PingAll(ctx context.Context, every time.Duration, all func() []*Conn) {
	ticks := time.NewTicker(max(every/pingSteps, time.Millisecond))
	defer ticks.Stop()
	var r round
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		for _, c := range r.next(all) {
			guard.Go("a ping", c.Panicked, c.ping)
		}
	}
}

// ping asks the peer for a sign of life, and ends the connection if none comes.
func (c *Conn) ping() {
	ctx, cancel := context.WithTimeout(c.ctx, c.s.PongTimeout)
	defer cancel()
	c.mu.Lock()
	queued, written := c.queued, c.queue.empty() && !c.writing
	c.mu.Unlock()
	if err := c.ws.Ping(ctx); err != nil {
		c.End()
		return
	}
	if !written {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = c.answered == queued
	c.answered = queued
}
