package processor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark/tidemark/projections"
)

// some rebuilds these partitions at the same time.
func (r *rebuild) some(ctx context.Context, numbers []int32) ([]Rebuilt, error) {
	var ws []*worker
	r.p.mu.Lock()
	for _, n := range numbers {
		w := r.p.newWorker(n, r.feederOf(n).client)
		w.inbox.setMax(r.p.cfg.inputBytes(len(numbers)))
		w.refused = r.refused[n]
		r.p.workers[n] = w
		ws = append(ws, w)
	}
	r.p.mu.Unlock()
	for _, w := range ws {
		go w.main()
	}
	for _, w := range ws {
		select {
		case <-w.opened:
			r.begin(w)
		case <-w.done:
		case <-ctx.Done():
		}
	}
	err := r.await(ctx, ws)
	list := make([]Rebuilt, len(ws))
	for i, w := range ws {
		list[i] = r.result(w)
		r.done += list[i].folded()
	}
	r.finished += len(ws)
	r.p.mu.Lock()
	clear(r.p.workers)
	r.p.mu.Unlock()
	return list, err
}

// begin lets a worker whose store is open start, or gives it up.
func (r *rebuild) begin(w *worker) {
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
	r.feederOf(w.number).feed(w, plan.from)
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

// await ends each worker where it is to end, and returns when all are done.
func (r *rebuild) await(ctx context.Context, ws []*worker) error {
	tick := time.NewTicker(rebuildTick)
	defer tick.Stop()
	cancelled := ctx.Done()
	ending := map[*worker]bool{}
	for said := r.p.cfg.now(); ; {
		running := false
		for _, w := range ws {
			if isDone(w.done) {
				continue
			}
			running = true
			if plan := r.plans[w.number]; w.started.Load() && !ending[w] && plan.reached(w.progress.at()) {
				ending[w] = true
				w.inbox.stop(stopClean)
				r.feederOf(w.number).leave(w) // what comes after it is for others
			}
		}
		if now := r.p.cfg.now(); now.Sub(said) >= reportEvery {
			said = now
			r.report(ws)
		}
		if !running {
			return ctx.Err()
		}
		select {
		case <-tick.C:
		case <-cancelled:
			for _, w := range ws {
				w.inbox.stop(stopAbort)
			}
			cancelled = nil
		}
	}
}

const (
	rebuildTick = 5 * time.Millisecond
	reportEvery = 250 * time.Millisecond
)

// report tells the progress of ws and of all that is finished.
func (r *rebuild) report(ws []*worker) {
	if r.c.Report == nil {
		return
	}
	p := RebuildProgress{Partitions: len(r.numbers), Finished: r.finished, Done: r.done}
	for _, n := range r.numbers {
		plan := r.plans[n]
		p.Total += behind(plan.until, plan.from)
	}
	for _, w := range ws {
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
