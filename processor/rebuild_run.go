package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidemark/tidemark/projections"
)

// underway is a partition that is being rebuilt.
type underway struct {
	*worker
	feeder        *feeder
	reader        *reader // set once it is begun
	begun, ending bool
}

// fold rebuilds the partitions, so many at the same time that the processors are busy and no more, for what is hot of one
// pushes that of the others out of the caches: where one ends the next begins. Its results are in the order of r.numbers.
func (r *rebuild) fold(ctx context.Context) ([]Rebuilt, error) {
	tick := time.NewTicker(rebuildTick)
	defer tick.Stop()
	cancelled := ctx.Done()
	all := map[int32]Rebuilt{}
	var running []*underway
	for said, next := r.p.cfg.now(), 0; ; {
		for next < len(r.numbers) && len(running) < r.parallel && ctx.Err() == nil {
			running = append(running, r.sit(r.numbers[next], running))
			next++
		}
		for _, s := range running {
			r.look(s)
		}
		running = slices.DeleteFunc(running, func(s *underway) bool {
			done := isDone(s.done)
			if done {
				all[s.number] = r.end(s)
			}
			return done
		})
		if now := r.p.cfg.now(); now.Sub(said) >= reportEvery {
			said = now
			r.report(running)
		}
		if len(running) == 0 && (next == len(r.numbers) || ctx.Err() != nil) {
			break
		}
		select {
		case <-tick.C:
		case <-cancelled:
			for _, s := range running {
				s.inbox.stop(stopAbort)
			}
			cancelled = nil
		}
	}
	var out []Rebuilt
	for _, n := range r.numbers {
		if one, ok := all[n]; ok {
			out = append(out, one)
		}
	}
	return out, ctx.Err()
}

const (
	rebuildTick = 5 * time.Millisecond
	reportEvery = 250 * time.Millisecond
)

// sit starts the worker of partition n, fed by whom the fewest of the others are fed by.
func (r *rebuild) sit(n int32, others []*underway) *underway {
	f := slices.MinFunc(r.feeders, func(a, b *feeder) int { return fedBy(others, a) - fedBy(others, b) })
	w := r.p.newWorker(n, f.client)
	w.inbox.setMax(r.p.cfg.inputBytes(min(r.parallel, len(r.numbers))))
	w.refused = r.refused[n]
	r.p.mu.Lock()
	r.p.workers[n] = w
	r.p.mu.Unlock()
	go w.main()
	return &underway{worker: w, feeder: f}
}

func fedBy(running []*underway, f *feeder) (n int) {
	for _, s := range running {
		if s.feeder == f {
			n++
		}
	}
	return n
}

// look moves a partition on: it begins when its store is open, and ends where it is to end.
func (r *rebuild) look(s *underway) {
	plan := r.plans[s.number]
	switch {
	case isDone(s.done):
	case !s.begun:
		if s.begun = isDone(s.opened); s.begun {
			r.begin(s)
		}
	case !s.ending && s.started.Load() && plan.reached(s.progress.at()):
		s.ending = true
		s.inbox.stop(stopClean)
		s.reader.leave() // what comes after it is for others
	}
}

// end takes a worker that is done away and says what became of it.
func (r *rebuild) end(s *underway) Rebuilt {
	r.p.mu.Lock()
	delete(r.p.workers, s.number)
	r.p.mu.Unlock()
	if s.reader != nil {
		s.reader.leave()
	}
	one := r.result(s.worker)
	r.done += one.folded()
	r.finished++
	return one
}

// begin lets a worker whose store is open start, or gives it up.
func (r *rebuild) begin(s *underway) {
	w := s.worker
	plan := r.plans[w.number]
	if w.storedAt != (projections.Position{}) {
		var err error
		if plan, err = r.goOn(w, plan); err != nil {
			w.giveUp(err)
			return
		}
	} else if plan.begun && !r.c.AcceptGap {
		w.giveUp(r.gap(w.number, plan))
		return
	}
	r.plans[w.number] = plan
	w.begin(order{plan: plan, ends: plan.until, standing: true})
	s.reader = r.read(w, s.feeder, plan.from, plan.until)
}

// goOn plans a partition whose store has been folded up to some position already.
func (r *rebuild) goOn(w *worker, plan opening) (opening, error) {
	for i, topic := range r.p.cfg.Topics.Inputs {
		at := w.storedAt[i]
		switch {
		case at < plan.from[i]:
			return plan, fmt.Errorf("%s/%d: the log begins at offset %d, and the store at %d: what lies between is gone; begin with a "+
				"store or snapshot that is at %d or later", topic, w.number, plan.from[i], at, plan.from[i])
		case at > plan.until[i]:
			return plan, fmt.Errorf("%s/%d: the store is at offset %d, beyond %d where this rebuild is to end: begin with an empty "+
				"directory", topic, w.number, at, plan.until[i])
		}
	}
	plan.from, plan.begun = w.storedAt, false
	return plan, nil
}

func (r *rebuild) gap(n int32, plan opening) error {
	for i, topic := range r.p.cfg.Topics.Inputs {
		if at := plan.from[i]; at > 0 {
			return fmt.Errorf("%s/%d: the log begins at offset %d: records 0 to %d are gone, so the topics alone do not give the state "+
				"any more; begin with a snapshot that is at %d or later, or accept what the records that are there say (--accept-gap)",
				topic, n, at, at-1, at)
		}
	}
	return nil
}

// report tells the progress of those that are rebuilt and of all that is finished.
func (r *rebuild) report(running []*underway) {
	if r.c.Report == nil {
		return
	}
	p := RebuildProgress{Partitions: len(r.numbers), Finished: r.finished, Done: r.done}
	for _, n := range r.numbers {
		plan := r.plans[n]
		p.Total += behind(plan.until, plan.from)
	}
	for _, w := range running {
		if w.started.Load() {
			plan := r.plans[w.number]
			left, total := plan.remaining(w.progress.at())
			p.Done += total - left
		}
		if isDone(w.done) {
			p.Finished++
		}
	}
	if elapsed := r.p.cfg.now().Sub(r.began).Seconds(); elapsed > 0 {
		p.Rate = float64(p.Done) / elapsed
	}
	if p.Rate > 0 {
		p.ETA = time.Duration(float64(p.Total-p.Done) / p.Rate * float64(time.Second))
	}
	r.c.Report(p)
}

// result is what became of a worker that is done.
func (r *rebuild) result(w *worker) Rebuilt {
	plan := r.plans[w.number]
	out := Rebuilt{Partition: w.number, Dir: StoreDir(r.p.cfg.DataDir, w.number), Identity: r.p.identityOf(w.number),
		From: plan.from, Until: plan.until}
	switch err := w.failure.Load(); {
	case err != nil:
		out.Err = *err
	case w.fold == nil || !w.started.Load():
		out.Err = errors.New("the rebuild was interrupted")
	case w.fold.StoredPosition() != plan.until:
		out.Err = fmt.Errorf("partition %d was folded up to %v, and not to %v: the rebuild was interrupted", w.number,
			w.fold.StoredPosition(), plan.until)
	}
	if out.Err == nil {
		out.Digest = w.fold.projection().Digest()
	} else if w.fold != nil {
		out.Until = w.fold.StoredPosition()
	}
	return out
}

// folded is how many offsets lie between the ends.
func (r *Rebuilt) folded() int64 { return behind(r.Until, r.From) }
