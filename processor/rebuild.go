package processor

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

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
	// Parallel is how many partitions are rebuilt at the same time; 0: as many as there are processors. Each needs the
	// memory of a live one.
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
	Identity    projections.Identity // what the store belongs to
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
	defer closeFeeders(r.feeders)
	if err := r.survey(ctx); err != nil {
		return nil, err
	}
	if err := r.fresh(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var polling sync.WaitGroup
	for _, f := range r.feeders {
		polling.Go(func() { f.run(ctx, r.p.deliver, func(ctx context.Context) { r.breathe(ctx, f) }) })
	}
	defer polling.Wait()
	defer cancel()

	r.began = r.p.cfg.now()
	all, err := r.fold(ctx)
	if err != nil {
		return all, err
	}
	r.report(nil)
	return all, nil
}

// rebuild is one call of Rebuild.
type rebuild struct {
	c        RebuildConfig
	p        *Processor // of which only what concerns partitions is used
	parallel int
	feeders  []*feeder
	numbers  []int32
	plans    map[int32]opening // how each partition is folded; its store may be further than from
	refused  map[int32]error
	began    time.Time

	finished int
	done     int64 // offsets folded by the partitions that are finished
}

func newRebuild(c RebuildConfig) (*rebuild, error) {
	def(&c.Group, "rebuild") // the name of none: nothing is joined
	def(&c.CutEvery, 5*time.Second)
	def(&c.MergeWait, 5*time.Second) // nobody waits, and reads that are folded before what they name cost several times as much
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &rebuild{c: c, parallel: c.Parallel, plans: map[int32]opening{}, refused: map[int32]error{}}
	if r.parallel <= 0 {
		r.parallel = max(runtime.GOMAXPROCS(0), rebuildClients)
	}
	r.p = &Processor{
		cfg: cfg, log: cfg.Logger, metrics: newMetrics(cfg.Topics), inputsOnly: true,
		workers: map[int32]*worker{}, leaving: map[int32]<-chan struct{}{},
	}
	if r.feeders, err = r.p.rebuildFeeders(); err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	r.p.admin = kadm.NewClient(r.feeders[0].client)
	return r, nil
}

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
	held, err := Stores(r.p.cfg.DataDir)
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
