package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/app/bench/gauge"
)

// steadyLine measures the whole path at a fixed rate: the cost of a cluster that keeps up with its
// users. Batches are small, so that an event has as many deltas with few pairs as with many.
type steadyLine struct {
	name    string
	rate    int // events per second, with independent arrivals
	seconds int // duration of the measurement
	warm    int // events before the measurement
}

// steady measures l. This process also produces the events, so steady first measures producing
// without a processor and subtracts its cost.
func (s *stage) steady(ctx context.Context, l steadyLine) (_ gauge.Result, err error) {
	if err := s.write(ctx, l.warm); err != nil {
		return gauge.Result{}, err
	}
	m, err := s.meter()
	if err != nil {
		return gauge.Result{}, err
	}
	n := l.rate * l.seconds
	s.env.report("%s: producing alone", l.name)
	m.Start()
	if err := s.pace(ctx, n, l.rate); err != nil {
		return gauge.Result{}, err
	}
	alone := m.Stop("producing", n)
	r, err := s.start(ctx, 0, false)
	if err != nil {
		return gauge.Result{}, err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	leave, err := s.join(ctx)
	if err != nil {
		return gauge.Result{}, err
	}
	defer func() { err = errors.Join(err, leave()) }()
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
	if err := settle(0); err != nil { // so that the measurement does not include folding earlier events
		return gauge.Result{}, err
	}
	if err := settle(2 * l.rate); err != nil {
		return gauge.Result{}, err
	}
	before, err := s.outputs(ctx)
	if err != nil {
		return gauge.Result{}, err
	}
	s.env.report("%s: measuring", l.name)
	m.Start()
	if err := settle(n); err != nil {
		return gauge.Result{}, err
	}
	res := m.Stop(l.name, n)
	after, err := s.outputs(ctx)
	res.Note += fmt.Sprintf("; %.2f records out an event; producing them, %.2f, is left out", float64(after-before)/float64(n), alone.CPU)
	res.CPU -= alone.CPU
	return res, err
}

// pace produces the next n events at a rate, with exponentially distributed gaps.
func (s *stage) pace(ctx context.Context, n, rate int) error {
	return s.feed().Pace(ctx, s.client, s.gen, n, rate)
}
