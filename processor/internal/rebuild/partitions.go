package rebuild

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidemark/tidemark/processor/internal/fetch"
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// underway is a partition that is being rebuilt.
type underway struct {
	*steps.Worker
	feeder        *fetch.Feeder
	reader        *fetch.Reader // set once it is begun
	begun, ending bool
}

// fold rebuilds the partitions, r.parallel at a time: enough to keep the processors busy. More
// would push each other's memory out of the CPU caches. The results are in the order of r.numbers.
func (r *rebuild) fold(ctx context.Context) ([]Result, error) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	cancelled := ctx.Done()
	all := map[int32]Result{}
	var running []*underway
	for reported, next := r.cfg.Now(), 0; ; {
		for next < len(r.numbers) && len(running) < r.parallel && ctx.Err() == nil {
			running = append(running, r.startWorker(r.numbers[next], running))
			next++
		}
		for _, s := range running {
			r.advance(s)
		}
		running = slices.DeleteFunc(running, func(s *underway) bool {
			done := life.Done(s.Done)
			if done {
				all[s.Number] = r.end(s)
			}
			return done
		})
		if now := r.cfg.Now(); now.Sub(reported) >= reportEvery {
			reported = now
			r.report(running)
		}
		if len(running) == 0 && (next == len(r.numbers) || ctx.Err() != nil) {
			break
		}
		select {
		case <-tick.C:
		case <-cancelled:
			for _, s := range running {
				s.Inbox.Stop(inbox.StopAbort)
			}
			cancelled = nil
		}
	}
	var out []Result
	for _, n := range r.numbers {
		if one, ok := all[n]; ok {
			out = append(out, one)
		}
	}
	return out, ctx.Err()
}

const (
	tickEvery   = 5 * time.Millisecond
	reportEvery = 250 * time.Millisecond
)

// startWorker starts partition n on the feeder with the fewest workers.
func (r *rebuild) startWorker(n int32, others []*underway) *underway {
	f := slices.MinFunc(r.feeders, func(a, b *fetch.Feeder) int { return fedBy(others, a) - fedBy(others, b) })
	w := steps.New(r.engine, host{r}, n, f.Client, nil)
	w.Inbox.SetMax(r.inputBytes())
	w.Refuse(r.refused[n])
	w.Launch()
	return &underway{Worker: w, feeder: f}
}

// inputBytes returns how much of one input a partition may hold in memory.
func (r *rebuild) inputBytes() int64 { return r.cfg.InputBytes(min(r.parallel, len(r.numbers))) }

func fedBy(running []*underway, f *fetch.Feeder) (n int) {
	for _, s := range running {
		if s.feeder == f {
			n++
		}
	}
	return n
}

// advance starts a partition when its store is open, and ends it at its goal.
func (r *rebuild) advance(s *underway) {
	plan := r.plans[s.Number]
	switch {
	case life.Done(s.Done):
	case !s.begun:
		if s.begun = life.Done(s.Opened); s.begun {
			r.begin(s)
		}
	case !s.ending && s.Started.Load() && plan.Reached(s.Progress.At()):
		s.ending = true
		s.Inbox.Stop(inbox.StopClean)
		s.reader.Leave() // it must fetch nothing beyond
	}
}

// end counts a worker that is done and returns its result.
func (r *rebuild) end(s *underway) Result {
	if s.reader != nil {
		s.reader.Leave()
	}
	one := r.result(s.Worker)
	r.done += one.folded()
	r.finished++
	return one
}

// begin starts a worker whose store is open, or gives it up.
func (r *rebuild) begin(s *underway) {
	w := s.Worker
	plan := r.plans[w.Number]
	if w.StoredAt != (projections.Position{}) {
		var err error
		if plan, err = r.resume(w, plan); err != nil {
			w.GiveUp(err)
			return
		}
	} else if plan.LogTruncated && !r.c.AcceptGap {
		w.GiveUp(r.gap(w.Number, plan))
		return
	}
	r.plans[w.Number] = plan
	w.Begin(opening.Order{Plan: plan, Ends: plan.Until, Standby: true})
	s.reader = fetch.Read(w.Ctx, r.engine, w.Inbox, s.feeder, r.inputBytes(), plan.From, plan.Until)
}

// resume plans a partition whose store was already folded up to some position.
func (r *rebuild) resume(w *steps.Worker, plan opening.Plan) (opening.Plan, error) {
	for i, topic := range r.cfg.Topics.Inputs {
		at := w.StoredAt[i]
		switch {
		case at < plan.From[i]:
			return plan, fmt.Errorf("%s/%d: the log begins at offset %d, and the store at %d: what lies between is gone; begin with a "+
				"store or snapshot that is at %d or later", topic, w.Number, plan.From[i], at, plan.From[i])
		case at > plan.Until[i]:
			return plan, fmt.Errorf("%s/%d: the store is at offset %d, beyond %d where this rebuild is to end: begin with an empty "+
				"directory", topic, w.Number, at, plan.Until[i])
		}
	}
	plan.From, plan.LogTruncated = w.StoredAt, false
	return plan, nil
}

func (r *rebuild) gap(n int32, plan opening.Plan) error {
	for i, topic := range r.cfg.Topics.Inputs {
		if at := plan.From[i]; at > 0 {
			return fmt.Errorf("%s/%d: the log begins at offset %d: records 0 to %d are gone, so the topics alone do not give the state "+
				"any more; begin with a snapshot that is at %d or later, or accept a state without them (--accept-gap)",
				topic, n, at, at-1, at)
		}
	}
	return nil
}

// report passes the progress of running and finished partitions to Report.
func (r *rebuild) report(running []*underway) {
	if r.c.Report == nil {
		return
	}
	p := Progress{Partitions: len(r.numbers), Finished: r.finished, Done: r.done}
	for _, n := range r.numbers {
		plan := r.plans[n]
		p.Total += opening.Behind(plan.Until, plan.From)
	}
	for _, w := range running {
		if w.Started.Load() {
			plan := r.plans[w.Number]
			left, total := plan.Remaining(w.Progress.At())
			p.Done += total - left
		}
		if life.Done(w.Done) {
			p.Finished++
		}
	}
	if elapsed := r.cfg.Now().Sub(r.began).Seconds(); elapsed > 0 {
		p.Rate = float64(p.Done) / elapsed
	}
	if p.Rate > 0 {
		p.ETA = time.Duration(float64(p.Total-p.Done) / p.Rate * float64(time.Second))
	}
	r.c.Report(p)
}

// result returns the result of a worker that is done.
func (r *rebuild) result(w *steps.Worker) Result {
	plan := r.plans[w.Number]
	out := Result{Partition: w.Number, Dir: home.Dir(r.cfg.DataDir, w.Number), Identity: r.engine.IdentityOf(w.Number),
		From: plan.From, Until: plan.Until}
	switch err := w.Failure.Load(); {
	case err != nil:
		out.Err = *err
	case w.Fold == nil || !w.Started.Load():
		out.Err = errors.New("the rebuild was interrupted")
	case w.Fold.StoredPosition() != plan.Until:
		out.Err = fmt.Errorf("partition %d was folded up to %v, and not to %v: the rebuild was interrupted", w.Number,
			w.Fold.StoredPosition(), plan.Until)
	}
	if out.Err == nil {
		out.Digest = w.Fold.Projection().Digest()
	} else if w.Fold != nil {
		out.Until = w.Fold.StoredPosition()
	}
	return out
}

// folded returns how many offsets were folded.
func (r *Result) folded() int64 { return opening.Behind(r.Until, r.From) }

// host runs the workers of a rebuild. They publish nothing, and a failed one is not opened again.
type host struct{ r *rebuild }

func (h host) Publish(w *steps.Worker, _ outputs.Outgoing) {
	w.Inbox.PublishDone(errors.New("a rebuild publishes nothing"))
}

func (h host) Apply(w *steps.Worker, c setup.Cut) { steps.Apply(h.r.engine, w, c) }

func (h host) Acknowledged(int32, projections.Position) {}

// Committed is called only by workers that publish, so never here.
func (h host) Committed(int32) projections.Position { return projections.Position{} }

func (h host) HasWorker(*steps.Worker) bool { return false }

func (h host) CloseInbox(w *steps.Worker, failed bool) { w.Inbox.Close(failed) }

func (h host) Spoil(int32) {}

func (h host) Reopen(*steps.Worker, func(next *steps.Worker)) bool { return false }

func (h host) Ending() <-chan struct{} { return nil }
