package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tidemark/tidemark/internal/load"
)

// steadyLine measures the whole path at a rate that does not depend on how fast it is: what a cluster costs that keeps up
// with its users. Batches are small, so that an event has as many deltas with few pairs as with many.
type steadyLine struct {
	name    string
	rate    int // events a second, as they come independently of each other
	seconds int // for which it is measured
	warm    int // events before
}

// steady measures l. What producing costs, which this process does as well, is measured without a processor first, and left
// out.
func (s *stage) steady(ctx context.Context, l steadyLine) (_ Result, err error) {
	if err := s.write(ctx, l.warm); err != nil {
		return Result{}, err
	}
	m, err := newMeter(s.env.Brokers[0])
	if err != nil {
		return Result{}, err
	}
	n := l.rate * l.seconds
	s.env.say("%s: producing alone", l.name)
	m.start()
	if err := s.pace(ctx, n, l.rate); err != nil {
		return Result{}, err
	}
	alone := m.stop("producing", n)
	r, err := s.start(ctx, 0, false)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	settle := func(n int) error {
		if err := s.pace(ctx, n, l.rate); err != nil {
			return err
		}
		to, err := s.ends(ctx)
		if err != nil {
			return err
		}
		return r.reach(ctx, to)
	}
	if err := settle(0); err != nil { // it does not fold what was there while it is measured
		return Result{}, err
	}
	if err := settle(2 * l.rate); err != nil {
		return Result{}, err
	}
	before, err := s.outputs(ctx)
	if err != nil {
		return Result{}, err
	}
	s.env.say("%s: measuring", l.name)
	m.start()
	if err := settle(n); err != nil {
		return Result{}, err
	}
	res := m.stop(l.name, n)
	after, err := s.outputs(ctx)
	res.Note += fmt.Sprintf("; %.2f records out an event; producing them, %.2f, is left out", float64(after-before)/float64(n), alone.CPU)
	res.CPU -= alone.CPU
	return res, err
}

// pace produces the next n events at a rate, with exponential gaps.
func (s *stage) pace(ctx context.Context, n, rate int) error {
	due := time.Now()
	return s.produce(ctx, s.client, func(emit func(*load.Event)) {
		for range n {
			due = due.Add(time.Duration(rand.ExpFloat64() * float64(time.Second) / float64(rate)))
			if wait := time.Until(due); wait > time.Millisecond {
				time.Sleep(wait) // what was due in between comes at once
			}
			if ctx.Err() != nil {
				return
			}
			e := s.gen.Next()
			emit(&e)
		}
	})
}
