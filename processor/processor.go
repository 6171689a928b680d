package processor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/fetch"
	"github.com/tidemark/tidemark/processor/internal/group"
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/metrics"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/processor/internal/steps"
)

// Processor is one member of the group. Create it with New, then Run it once; its other methods may
// be called at any time from any goroutine.
type Processor struct {
	engine  *engine.Engine
	cfg     *setup.Checked // the engine's
	log     *slog.Logger
	metrics *metrics.Set
	admin   *kadm.Client

	balancer  *group.Balancer
	directory *group.Directory
	relayKey  string      // this member's key; see MemberData
	asker     *kgo.Client // sends requests to the brokers, and produces nothing
	lease     *outputs.Lease
	publisher *outputs.Publisher
	committer *outputs.Committer
	consumer  *kgo.Client // set by Run before it calls anything of the client
	catchUp   *fetch.CatchUp
	standbys  *standbys

	ended atomic.Bool

	stopping   chan struct{} // closed when all partitions must end
	renewLease chan struct{} // wakes keepLease

	mu           sync.RWMutex
	member       string // the current membership's id; see membership.go
	joined       bool   // it is in its group, and workers holds everything that it owns there
	workers      map[int32]*steps.Worker
	leaving      map[int32]<-chan struct{} // closed when the last worker of a partition that was given up is done
	storesOnDisk []int32                   // partitions with a store on disk

	snapshotting sync.Mutex // held while a snapshot is taken
}

// New creates a processor. It does not wait for the brokers.
func New(c Config) (*Processor, error) {
	cfg, err := setup.Check(c)
	if err != nil {
		return nil, err
	}
	var stores []int32
	if cfg.DataDir != "" {
		if err := private.MkdirAll(cfg.DataDir); err != nil {
			return nil, fmt.Errorf("the data directory cannot be made (%w): name with --data-dir one that this user may write to", err)
		}
		if stores, err = home.StoresHere(cfg.DataDir); err != nil {
			return nil, err
		}
	}
	relayKey, e := rand.Text(), engine.New(cfg)
	p := &Processor{
		relayKey: relayKey, engine: e, cfg: &e.Config, log: e.Log, metrics: e.Metrics,
		workers: map[int32]*steps.Worker{}, leaving: map[int32]<-chan struct{}{}, storesOnDisk: stores,
		stopping: make(chan struct{}), renewLease: make(chan struct{}, 1), lease: outputs.NewLease(),
		balancer: group.NewBalancer(cfg.Topics.Inputs[:], memberData(&cfg, relayKey, stores)),
	}
	p.cfg.Behind, p.cfg.FetchBytes = cmp.Or(p.cfg.Behind, fetch.Behind), cmp.Or(p.cfg.FetchBytes, fetch.CatchUpBytes)
	p.standbys = newStandbys(p)
	p.balancer.Near, p.balancer.Positions = cfg.NearRecords, p.positions
	p.balancer.Assigned = func(owned map[string][]int32, d group.Duties) {
		p.begun()
		p.standbys.assigned(owned, d)
	}
	if p.asker, err = kgo.NewClient(p.askerOptions()...); err != nil {
		return nil, fmt.Errorf("processor: client: %w", err)
	}
	e.SetClient(p.asker)
	p.admin = e.Admin
	p.directory = group.NewDirectory(p.admin, cfg.Group, cfg.Topics.Inputs[events.Messages], cfg.Now)
	return p, nil
}

// Run joins the group and folds until ctx is done. Then it finishes its batches, publishes, writes
// the stores, commits, leaves the group, and returns nil. It returns an error if the topics do not
// fit a processor. Call it once.
func (p *Processor) Run(ctx context.Context) error {
	closing := p.closer()
	defer closing("the client that asks", p.asker.Close)
	defer p.ended.Store(true)
	unregister, err := p.metrics.Register(p.cfg.Registerer, collector{p})
	if err != nil {
		return err
	}
	defer unregister()
	if err := p.engine.Identify(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if p.cfg.DataDir == "" {
		return errors.New("processor: no data directory is configured")
	}
	if p.consumer, err = kgo.NewClient(p.consumerOptions()...); err != nil {
		return fmt.Errorf("processor: consumer: %w", err)
	}
	tail, err := kgo.NewClient(p.engine.TailOptions()...)
	if err != nil {
		p.consumer.Close()
		return fmt.Errorf("processor: consumer of standbys: %w", err)
	}
	p.standbys.feeder = fetch.NewFeeder(tail, p.cfg.Topics.Inputs)
	p.catchUp = &fetch.CatchUp{Engine: p.engine, Asker: p.asker, Consumer: p.consumer, Hold: p.hold}
	publishing, endPublishing := context.WithCancel(context.Background())
	p.publisher = &outputs.Publisher{
		Ctx: publishing, Connect: p.newProducer, Roster: outputs.NewRoster(), Fences: &outputs.Fencer{Client: p.asker, Admin: p.admin},
		Unread: p.cfg.Topics.Unread, Channels: p.cfg.Topics.Channels, Partitions: p.engine.Partitions,
		ClientProduces: p.cfg.ClientProduces, Compressor: outputs.NewCompressor(),
		Named: func() { p.committer.Hurry() }, Log: p.log,
		Counts: outputs.Counts{Fences: p.metrics.Fences, Retried: p.metrics.Retried, Refused: p.metrics.Refused},
	}
	defer closing("the producer", func() { p.publisher.Close(endPublishing) })
	p.committer = outputs.NewCommitter(outputs.Commits{
		Commit: outputs.CommitSync(p.consumer, p.mayCommit), Roster: p.publisher.Roster, Topics: p.cfg.Topics.Inputs,
		Every: p.cfg.CommitEvery, Log: p.log, Took: func(d time.Duration) { p.metrics.Phase(metrics.PhaseCommit, d) }, Now: p.cfg.Now,
		Moved: func(n int32) {
			if w := p.worker(n); w != nil {
				w.OffsetsMoved()
			}
		},
	})
	p.publisher.Begin()
	// From here on callbacks may run: the client joins the group when it has a topic to consume.
	p.consumer.AddConsumeTopics(p.cfg.Topics.Inputs[:]...)

	var others sync.WaitGroup
	panicked := guard.Log(p.log, "a part of the processor panicked and is begun again")
	// These continue while the partitions end, because ending partitions still publish.
	last, endLast := context.WithCancel(context.Background())
	var lasting sync.WaitGroup
	lasting.Go(func() { guard.Loop(last, "the keeping of the lease", panicked, func() { p.keepLease(last) }) })
	lasting.Go(func() { guard.Loop(last, "the committing of offsets", panicked, func() { p.committer.Run(last) }) })
	beside := func(what string, f func()) { others.Go(func() { guard.Loop(ctx, what, panicked, f) }) }
	beside("the watching of standbys", func() { p.standbys.run(ctx) })
	beside("the fetching for standbys", func() { p.standbys.feeder.Run(ctx, fetch.DeliverTo(p.engine), p.throttle) })
	beside("the taking of snapshots", func() { p.runSnapshots(ctx) })
	beside("the removal of stores", func() { p.runSweeps(ctx) })
	beside("the watching of topics", func() {
		p.engine.WatchTopics(ctx, func(err error) {
			for _, w := range p.owned() {
				w.Inbox.Fail(err)
			}
		})
	})
	beside("the comparing of settings", func() { p.compareSettings(ctx) })
	guard.Loop(ctx, "the polling", panicked, func() { p.poll(ctx) })
	p.shutdown(&others)
	endLast()
	closing("offsets and heartbeats", lasting.Wait)
	closing("fetches in progress", p.catchUp.Wait)
	return nil
}
