package processor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// RebuildConfig says what Rebuild folds and where to. Of Config it needs Brokers, DataDir and Settings, and the names of
// the inputs if they are not those of package events; Group and all that is about publishing is not used.
type RebuildConfig struct {
	Config
	// Partitions are those to rebuild; nil: all.
	Partitions []int32
	// Until is up to where each partition is folded, exactly. A partition that is not in it is folded to where its logs
	// end when Rebuild begins.
	Until map[int32]projections.Position
	// Parallel is how many partitions are rebuilt at the same time; 0: all. Each needs the memory of a live one.
	Parallel int
	// Resume goes on with stores that are in DataDir already, from wherever they are: an interrupted rebuild, a restored
	// snapshot. Else DataDir must hold none.
	Resume bool
	// AcceptGap begins at the first record that is there where the logs do not begin at offset 0. The state is then what
	// these records say and no more.
	AcceptGap bool
	// Report gets the progress about four times a second, from one goroutine; nil: nobody asks.
	Report func(RebuildProgress)
}

// RebuildProgress is how far a rebuild has come, over all of its partitions.
type RebuildProgress struct {
	Partitions, Finished int
	Done, Total          int64         // records, as far as offsets tell
	Rate                 float64       // records a second since it began
	ETA                  time.Duration // 0 = not known
}

// Rebuilt is what became of one partition.
type Rebuilt struct {
	Partition   int32
	Dir         string               // of its store, which is closed
	From, Until projections.Position // what was folded; Until is the store's position unless Err is set
	Digest      [16]byte             // as of Until
	Err         error
}

// Rebuild folds the topics into stores, without a group, without publishing, and ends where it was told to (DESIGN §12,
// replay). It is the opening of a partition as a live node does it, by the same steps, with the difference that it stops
// where that goes live; so the stores that it leaves are those of a node that was stopped there.
//
// A partition that cannot be rebuilt has its Err set and the others go on. The error is about all of them: the topics are
// not as they should be, the brokers gave no answer, ctx is done.
func Rebuild(ctx context.Context, c RebuildConfig) ([]Rebuilt, error) {
	r, err := newRebuild(c)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.survey(ctx); err != nil {
		return nil, err
	}
	if err := r.fresh(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var polling sync.WaitGroup
	polling.Go(func() { r.poll(ctx) })
	defer polling.Wait()
	defer cancel()

	r.began = r.p.cfg.now()
	var all []Rebuilt
	step := r.c.Parallel
	if step <= 0 {
		step = len(r.numbers)
	}
	for part := range slices.Chunk(r.numbers, max(step, 1)) {
		done, err := r.some(ctx, part)
		all = append(all, done...)
		if err != nil {
			return all, err
		}
	}
	r.report(nil)
	return all, nil
}

// rebuild is one call of Rebuild.
type rebuild struct {
	c       RebuildConfig
	p       *Processor // of which only what concerns partitions is used
	client  *kgo.Client
	numbers []int32
	plans   map[int32]opening // how each partition is folded; its store may be further than from
	refused map[int32]error
	began   time.Time

	finished int
	done     int64 // offsets folded by the partitions that are finished
}

func newRebuild(c RebuildConfig) (*rebuild, error) {
	def(&c.Group, "rebuild") // the name of none: nothing is joined
	def(&c.CutEvery, 5*time.Second)
	cfg, err := c.Config.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &rebuild{c: c, plans: map[int32]opening{}, refused: map[int32]error{}}
	r.p = &Processor{
		cfg: cfg, log: cfg.Logger, metrics: newMetrics(cfg.Topics), inputsOnly: true,
		workers: map[int32]*worker{}, leaving: map[int32]<-chan struct{}{},
	}
	if r.client, err = kgo.NewClient(append(r.p.tailOptions(), kgo.ClientID("tidemark-rebuild"))...); err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	r.p.admin = kadm.NewClient(r.client)
	return r, nil
}

func (r *rebuild) close() { r.client.Close() }

// survey learns what the topics are and plans every partition.
func (r *rebuild) survey(ctx context.Context) error {
	if err := r.p.identify(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var logs *survey
	for {
		var err error
		if logs, err = r.p.surveyOnce(ctx); err == nil && logs.wrong == nil {
			break
		} else if logs != nil && logs.wrong != nil {
			return logs.wrong
		}
		r.p.log.Warn("the brokers do not say where the logs begin and end yet", "err", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.numbers = slices.Clone(r.c.Partitions)
	if r.numbers == nil {
		for n := range r.p.Partitions() {
			r.numbers = append(r.numbers, n)
		}
	}
	for _, n := range r.numbers {
		if n < 0 || n >= r.p.Partitions() {
			return fmt.Errorf("there is no partition %d: the topics have %d", n, r.p.Partitions())
		}
		plan, err := r.plan(n, logs)
		if err != nil {
			r.refused[n] = err
		}
		r.plans[n] = plan
	}
	return nil
}

// plan decides from where to where partition n is folded if there is no store.
func (r *rebuild) plan(n int32, logs *survey) (opening, error) {
	o := opening{published: true}
	until, given := r.c.Until[n]
	for i, topic := range r.p.cfg.Topics.Inputs {
		start, end, err := logs.bounds(i, n)
		switch {
		case err != nil:
			return o, fmt.Errorf("where %s/%d begins and ends is not known: %w", topic, n, err)
		case given && until[i] > end:
			return o, fmt.Errorf("%s/%d: the log ends at offset %d and it is to be folded up to %d: the log has lost records that were "+
				"folded, or these are other brokers", topic, n, end, until[i])
		case given:
			end = until[i]
		}
		o.from[i], o.until[i] = start, max(end, start)
		o.begun = o.begun || start > 0
	}
	return o, nil
}

// fresh makes sure that nothing is in the way of the stores, or at least nothing unexpected.
func (r *rebuild) fresh() error {
	if err := os.MkdirAll(r.p.cfg.DataDir, 0o755); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	held, err := storesIn(r.p.cfg.DataDir)
	if err != nil || r.c.Resume {
		return err
	}
	for _, n := range r.numbers {
		if slices.Contains(held, n) {
			return fmt.Errorf("%s is there already: a rebuild begins with nothing; name an empty directory, or go on with what is "+
				"there (--resume)", StoreDir(r.p.cfg.DataDir, n))
		}
	}
	return nil
}

// some rebuilds these partitions at the same time.
func (r *rebuild) some(ctx context.Context, numbers []int32) ([]Rebuilt, error) {
	var ws []*worker
	r.p.mu.Lock()
	for _, n := range numbers {
		w := r.p.newWorker(n, r.client)
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
	from := map[string]map[int32]kgo.Offset{}
	for i, topic := range r.p.cfg.Topics.Inputs {
		if plan.from[i] < plan.until[i] {
			from[topic] = map[int32]kgo.Offset{w.number: kgo.NewOffset().At(plan.from[i]).WithEpoch(-1)}
		}
	}
	r.client.AddConsumePartitions(from)
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
				r.client.RemoveConsumePartitions(r.inputs(w.number)) // what comes after it is for others
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

// inputs are those of partition n as the client names them.
func (r *rebuild) inputs(n int32) map[string][]int32 {
	all := map[string][]int32{}
	for _, topic := range r.p.cfg.Topics.Inputs {
		all[topic] = []int32{n}
	}
	return all
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
	out := Rebuilt{Partition: w.number, Dir: StoreDir(r.p.cfg.DataDir, w.number), From: plan.from, Until: plan.until}
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

// poll hands over what is fetched until ctx is done.
func (r *rebuild) poll(ctx context.Context) {
	for {
		fetches := r.client.PollFetches(ctx)
		if ctx.Err() != nil || fetches.IsClientClosed() {
			return
		}
		fetches.EachTopic(func(t kgo.FetchTopic) {
			in := slices.Index(r.p.cfg.Topics.Inputs[:], t.Topic)
			if in < 0 {
				return
			}
			for i := range t.Partitions {
				r.p.deliverTo(r.p.worker(t.Partitions[i].Partition), events.Input(in), &t.Partitions[i])
			}
		})
		r.p.breathe(ctx)
	}
}
