package gateway

import (
	"context"
	"time"
)

// pingSteps are the steps of a round in which every connection is pinged once: with one step for all, their pongs would come
// at once.
const pingSteps = 25

// round says who is pinged when: each connection at a step of its own, so that two of its pings are as far apart as two
// rounds.
type round struct {
	step  int // the next, from 0 to pingSteps-1
	turns [pingSteps][]*conn
}

// next are the connections that are pinged now. One that comes during a round has its first turn in the next.
func (r *round) next(all func() []*conn) []*conn {
	if r.step == 0 {
		r.turns = [pingSteps][]*conn{}
		for _, c := range all() {
			turn := c.number % pingSteps
			r.turns[turn] = append(r.turns[turn], c)
		}
	}
	due := r.turns[r.step]
	r.step = (r.step + 1) % pingSteps
	return due
}

// pingAll asks every connection for a sign of life every PingEvery.
func (g *Gateway) pingAll(ctx context.Context) {
	ticks := time.NewTicker(max(g.cfg.Limits.PingEvery/pingSteps, time.Millisecond))
	defer ticks.Stop()
	var r round
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		for _, c := range r.next(g.hub.all) {
			go c.ping()
		}
	}
}

// ping asks the peer for a sign of life, and ends the connection without one.
func (c *conn) ping() {
	ctx, cancel := context.WithTimeout(c.ctx, c.g.cfg.Limits.PongTimeout)
	defer cancel()
	if err := c.ws.Ping(ctx); err != nil {
		c.cancel()
		_ = c.ws.CloseNow()
	}
}
