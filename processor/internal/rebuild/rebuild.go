package rebuild

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/fetch"
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// Config configures Run. Of the processor's configuration Run needs Brokers, DataDir and Settings,
// and the names of the inputs if they differ from those of package events. It ignores Group and
// everything about publishing.
type Config struct {
	setup.Config
	// Partitions lists the partitions to rebuild; nil: all.
	Partitions []int32
	// Until is the exact position up to which each partition is folded. A partition that it does
	// not list is folded up to the ends of its logs when Run begins.
	Until map[int32]projections.Position
	// Parallel is how many partitions are rebuilt at the same time; 0: as many as there are
	// processors. Each needs the memory of a live partition.
	Parallel int
	// Resume continues with the stores in DataDir, whatever their positions: those of an
	// interrupted rebuild, or restored snapshots. Without it DataDir must have no stores.
	Resume bool
	// AcceptGap starts at the first record of a log that does not begin at offset 0. The state then
	// covers only the remaining records.
	AcceptGap bool
	// Report gets the progress about four times a second, from one goroutine; nil: no reports.
	Report func(Progress)
}

// Progress is how far a rebuild has come, over all of its partitions.
type Progress struct {
	Partitions, Finished int
	Done, Total          int64         // records, estimated by offsets
	Rate                 float64       // records a second since it began
	ETA                  time.Duration // 0 = unknown
}

// Result is the result of one partition.
type Result struct {
	Partition   int32
	Dir         string               // directory of its store, which is closed
	Identity    projections.Identity // the store's identity
	From, Until projections.Position // positions before and after; Until is the store's position unless Err is set
	Digest      [16]byte             // digest at Until
	Err         error
}

// Run folds the topics into stores up to a given position, without a group and without publishing
// (DESIGN §12, replay). It takes the same steps as a live node that opens a partition, but stops
// where the node would go live. So its stores equal those of a node that was stopped there.
//
// A partition that cannot be rebuilt has its Err set and the others continue. The returned error is
// about all partitions: the topics do not fit, the brokers gave no answer, or ctx is done.
func Run(ctx context.Context, c Config) ([]Result, error) {
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
		polling.Go(func() {
			guard.Loop(ctx, "fetching", guard.Log(r.log, "fetching is begun again"), func() {
				f.Run(ctx, fetch.DeliverTo(r.engine), func(ctx context.Context) { f.Throttle(ctx, max(r.cfg.QueueBytes/int64(len(r.feeders)), 1)) })
			})
		})
	}
	defer polling.Wait()
	defer cancel()

	r.began = r.cfg.Now()
	all, err := r.fold(ctx)
	if err != nil {
		return all, err
	}
	r.report(nil)
	return all, nil
}

// rebuild is one call of Run.
type rebuild struct {
	engine   *engine.Engine
	cfg      *setup.Checked // the engine's
	log      *slog.Logger
	c        Config
	parallel int
	feeders  []*fetch.Feeder
	numbers  []int32
	plans    map[int32]opening.Plan // how each partition is folded; its store may be ahead of From
	refused  map[int32]error
	began    time.Time

	finished int
	done     int64 // offsets folded by the finished partitions
}

func newRebuild(c Config) (*rebuild, error) {
	c.Group = cmp.Or(c.Group, "rebuild") // a placeholder: a rebuild joins no group
	c.CutEvery = cmp.Or(c.CutEvery, setup.RebuildCutEvery)
	// Nobody waits for a rebuild, and folding a read before the message it names costs several
	// times as much.
	c.MergeWait = cmp.Or(c.MergeWait, 5*time.Second)
	cfg, err := setup.Check(c.Config)
	if err != nil {
		return nil, err
	}
	e := engine.New(cfg)
	e.InputsOnly = true
	r := &rebuild{engine: e, cfg: &e.Config, log: e.Log, c: c, parallel: c.Parallel, plans: map[int32]opening.Plan{}, refused: map[int32]error{}}
	r.cfg.FetchBytes = cmp.Or(r.cfg.FetchBytes, fetch.RebuildBytes)
	if r.parallel <= 0 {
		r.parallel = max(runtime.GOMAXPROCS(0), Clients)
	}
	if r.feeders, err = r.openFeeders(); err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	e.SetClient(r.feeders[0].Client)
	return r, nil
}

// survey reads the topics' identities and plans every partition.
func (r *rebuild) survey(ctx context.Context) error {
	if err := r.engine.Identify(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var logs *engine.Survey
	for {
		var err error
		if logs, err = r.engine.SurveyOnce(ctx); err == nil && logs.Wrong == nil {
			break
		} else if logs != nil && logs.Wrong != nil {
			return logs.Wrong
		}
		r.log.Warn("the start and end of the topics' logs are not known yet", "err", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.numbers = slices.Clone(r.c.Partitions)
	if r.numbers == nil {
		for n := range r.engine.Partitions() {
			r.numbers = append(r.numbers, n)
		}
	}
	for _, n := range r.numbers {
		if n < 0 || n >= r.engine.Partitions() {
			return fmt.Errorf("there is no partition %d: the topics have %d", n, r.engine.Partitions())
		}
		plan, err := r.plan(n, logs)
		if err != nil {
			r.refused[n] = err
		}
		r.plans[n] = plan
	}
	return nil
}

// plan plans partition n as if it had no store.
func (r *rebuild) plan(n int32, logs *engine.Survey) (opening.Plan, error) {
	o := opening.Plan{Published: true}
	until, given := r.c.Until[n]
	for i, topic := range r.cfg.Topics.Inputs {
		start, end, err := logs.Bounds(i, n)
		switch {
		case err != nil:
			return o, fmt.Errorf("the start and end of %s/%d are not known: %w", topic, n, err)
		case given && until[i] > end:
			return o, fmt.Errorf("%s/%d: the log ends at offset %d and it is to be folded up to %d: the log has lost records that were "+
				"folded, or these are other brokers", topic, n, end, until[i])
		case given:
			end = until[i]
		}
		o.From[i], o.Until[i] = start, max(end, start)
		o.LogTruncated = o.LogTruncated || start > 0
	}
	return o, nil
}

// fresh checks that no unexpected store is in the way.
func (r *rebuild) fresh() error {
	if err := private.MkdirAll(r.cfg.DataDir); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	stores, err := home.Stores(r.cfg.DataDir)
	if err != nil || r.c.Resume {
		return err
	}
	for _, n := range r.numbers {
		if slices.Contains(stores, n) {
			return fmt.Errorf("%s is there already: a rebuild begins with nothing; name an empty directory, or go on with what is "+
				"there (--resume)", home.Dir(r.cfg.DataDir, n))
		}
	}
	return nil
}
