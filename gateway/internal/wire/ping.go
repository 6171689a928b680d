package wire

import (
	"context"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
)

// pingSteps is how many steps a round has, in which every connection is pinged once. With a single
// step all pongs would come at once.
const pingSteps = 25

// round determines which connections are pinged when: each at its own step, one round apart.
type round struct {
	step  int // the next, from 0 to pingSteps-1
	turns [pingSteps][]*Conn
}

// next returns the connections to ping now. A connection that comes during a round has its first
// turn in the next round.
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

// ping pings the peer, and ends the connection without an answer.
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
