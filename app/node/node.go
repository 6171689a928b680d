package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kprom"

	"github.com/tidemark/tidemark/app/recheck"
	"github.com/tidemark/tidemark/app/travel"
	"github.com/tidemark/tidemark/app/ui"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/processor"
)

// Node is a node that was made but does not run yet.
type Node struct {
	cfg      Config
	registry *prometheus.Registry
	traces   traces
	memory   config.Memory // of a node with a limit
	blocks   *pebble.Cache // shared by the stores; nil without a limit

	redis        *redis.Client // of the role cache
	redisMetrics *redisMetrics // of both roles that use Redis; nil without them
	client       *kgo.Client   // reads metadata of topics, and produces ingested events
	processor    *processor.Processor
	past         *travel.Guide    // nil if this node folds nothing
	sockets      *redis.Client    // of the role gateway
	gateway      *gateway.Gateway // nil without the role
	router       *router          // replaces the processor's own answers if this node folds nothing
	ui           *ui.UI           // nil: no page
	verifying    sync.Mutex       // held while a partition is compared
	parts        []part
	ran          bool

	stopping context.Context // done when the node begins to stop
	stop     context.CancelFunc
	doors    []served
}

// part is something that runs until its context is done.
type part struct {
	name  string
	run   func(context.Context) error
	ready func() (bool, []string)
	early bool // it begins to stop before the calls in progress are answered, because it takes long and they do not need it
}

// New connects to Kafka and makes the node. It fails if the brokers do not answer or the topics are
// missing; the error has the way out. The caller runs the node, or closes the listener.
func New(ctx context.Context, c Config) (_ *Node, err error) {
	c, err = c.withDefaults()
	if err != nil {
		return nil, err
	}
	c.Kafka.Options = append(slices.Clone(c.Kafka.Options), inflate.Options(inflate.Batch(int64(c.Memory)))...)
	n := &Node{cfg: c, registry: obs.NewRegistry(c.Build)}
	n.cfg.Peers.Doubts = &peer.Doubts{}
	c.Audit.Register(n.registry)
	n.registry.MustRegister(stateCodes{n.Ready, c.Logger})
	n.stopping, n.stop = context.WithCancel(context.Background())
	if n.traces, err = newTraces(ctx, c, n.registry); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			n.release()
		}
	}()
	if n.client, err = n.connect(ctx); err != nil {
		return nil, err
	}
	partitions, err := n.partitions(ctx)
	if err != nil {
		return nil, err
	}
	if c.Memory > 0 {
		if n.memory, err = config.PlanMemory(c.Memory, partitions); err != nil {
			return nil, err
		}
		n.registry.MustRegister(memoryMetrics(n.memory))
	}
	if c.Roles.Has(config.RoleProcessor) || c.Roles.Has(config.RoleQuery) {
		if err := n.addProcessor(partitions); err != nil {
			return nil, err
		}
	}
	if c.Roles.Has(config.RoleCache) || c.Roles.Has(config.RoleGateway) {
		n.redisMetrics = newRedisMetrics(n.registry)
	}
	if c.Roles.Has(config.RoleCache) {
		if err := n.addCache(); err != nil {
			return nil, err
		}
	}
	if c.Roles.Has(config.RoleSQL) {
		if err := n.addSQL(); err != nil {
			return nil, err
		}
	}
	if c.Roles.Has(config.RoleGateway) {
		if err := n.addGateway(partitions); err != nil {
			return nil, err
		}
	}
	if c.UI != nil {
		if err := n.addUI(); err != nil {
			return nil, err
		}
	}
	n.addDoors()
	return n, nil
}

func (n *Node) connect(ctx context.Context) (*kgo.Client, error) {
	return n.cfg.Kafka.Client(ctx, n.cfg.Patience,
		kgo.WithHooks(kprom.NewMetrics("tidemark", kprom.Subsystem("ingest_kafka"), kprom.Registerer(n.registry))),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // murmur2 of the key, as Kafka's own
		kgo.ProducerLinger(0),
		kgo.DisableClientMetrics(),
	)
}

// partitions returns the partition count of the inputs. The parts that use the topics check that
// the counts fit together.
func (n *Node) partitions(ctx context.Context) (int32, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Patience)
	defer cancel()
	_, _, counts, err := kafkaadmin.SettledIdentities(ctx, kadm.NewClient(n.client), n.cfg.Topics.Inputs[:])
	if err != nil {
		return 0, err
	}
	return counts[n.cfg.Topics.Inputs[0]], nil
}

func (n *Node) addProcessor(partitions int32) error {
	c := &n.cfg
	pc := processor.Config{
		Brokers: c.Kafka.Brokers, ClientOptions: c.Kafka.Options, Group: c.Group, Topics: c.Topics, DataDir: c.DataDir, FS: c.FS,
		Skip: c.Skip, Standbys: c.Standbys, InstanceID: c.InstanceID, SessionTimeout: c.SessionTimeout, StoreRetention: c.StoreRetention, ClientProduces: c.ClientProduces, ClientConsumes: c.ClientConsumes, Breaker: processor.Breaker{Off: c.NoBreaker},
		Snapshots: c.Snapshots, SnapshotEvery: c.SnapshotEvery,
		Advertise: c.Advertise, ThreadsAlways: c.ThreadsAlways,
		Settings: c.Settings, ShutdownTimeout: max(time.Second, c.StopTimeout-drainTimeout), Registerer: n.registry, Logger: c.Logger.With("role", "processor"),
	}
	if n.memory.Limit > 0 {
		n.blocks = pebble.NewCache(int64(n.memory.Cache))
		pc.Cache, pc.MemTableSize, pc.QueueBytes = n.blocks, uint64(n.memory.MemTable), int64(n.memory.Queue)
		pc.CutBytes, pc.HotBytes = int64(n.memory.Dirty), int64(n.memory.Hot)
		pc.UndrainedPairs = n.memory.Undrained
	}
	if c.HotMemory > 0 {
		pc.HotBytes = int64(c.HotMemory)
	}
	pc.Trace = n.traces.engine
	p, err := processor.New(pc)
	if err != nil {
		return err
	}
	pc.Trace = nil // what is folded again beside the node is no event's way
	n.processor = p
	if !c.Roles.Has(config.RoleProcessor) {
		n.router = &router{p, partitions}
		return nil
	}
	n.parts = append(n.parts, part{name: processorPart, run: p.Run, ready: p.Ready})
	n.past = travel.New(travel.Config{Fold: pc, Snapshots: c.Snapshots, Logger: c.Logger.With("role", "past")})
	n.past.Clean()
	if c.CheckChannels > 0 {
		k := recheck.New(recheck.Config{PerMinute: c.CheckChannels, Node: p, Fold: pc, Registerer: n.registry, Logger: c.Logger.With("role", "check")})
		n.parts = append(n.parts, part{name: "check", run: k.Run, ready: func() (bool, []string) { return true, nil }, early: true})
	}
	return nil
}

// Run serves until ctx is done, then stops cleanly and returns nil. If a part fails the node stops
// as well, and the error names the part.
//
// A stop has this order. First /readyz answers 503, streams end and sockets are closed. Then
// partitions finish, publish, write their stores and are handed over, while calls are still answered,
// so that nobody waits for a partition longer than it takes to move. At last the listeners close, and
// calls in progress are answered. All steps share one deadline, StopTimeout from the beginning of the
// stop, even if brokers, Redis or disks hang.
func (n *Node) Run(ctx context.Context) error {
	c := &n.cfg
	if n.memory.Limit > 0 {
		n.memory.Apply()
		c.Logger.Info("memory", "shares", n.memory.String())
	}
	n.ran = true
	partsCtx, stopParts := context.WithCancel(context.WithoutCancel(ctx))
	defer stopParts()
	socketsCtx, stopSockets := context.WithCancel(partsCtx)
	defer stopSockets()

	type ended struct {
		name string
		err  error
	}
	results := make(chan ended, len(n.parts)+len(n.doors))
	running := map[string]bool{}
	for _, p := range n.parts {
		running[p.name] = true
		partCtx := partsCtx
		if p.early {
			partCtx = socketsCtx
		}
		guard.Go(p.name, func(e *guard.Error) { results <- ended{p.name, e} }, func() { results <- ended{p.name, p.run(partCtx)} })
	}
	for _, d := range n.doors {
		running[d.name] = true
		guard.Go(d.name, func(e *guard.Error) { results <- ended{d.name, e} }, func() { results <- ended{d.name, n.serve(d)} })
	}
	started := []any{"version", c.Build.Version, "roles", c.Roles.String(), "listen", c.Listener.Addr().String()}
	if c.AdminListener != nil {
		started = append(started, "admin", c.AdminListener.Addr().String())
	}
	c.Logger.Info("node started", append(started, "brokers", strings.Join(c.Kafka.Brokers, ","), "group", c.Group)...)

	var errs []error
	note := func(e ended) {
		delete(running, e.name)
		if e.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.name, e.err))
		} else if n.stopping.Err() == nil {
			errs = append(errs, fmt.Errorf("%s ended by itself", e.name))
		}
	}
	select {
	case <-ctx.Done():
	case e := <-results:
		note(e)
	}

	c.Logger.Info("node stops")
	n.stop()
	deadline := time.NewTimer(c.StopTimeout + stopMargin)
	defer deadline.Stop()
	stopSockets()
	drain := sync.OnceFunc(n.drain)
	if !running[processorPart] { // the other parts hand nothing over, and calls need them
		drain()
	}
	stopParts()
	late := time.NewTimer(c.StopTimeout - drainTimeout)
	defer late.Stop()
	for len(running) > 0 {
		select {
		case e := <-results:
			note(e)
			if e.name == processorPart {
				drain()
			}
		case <-late.C:
			drain()
		case <-deadline.C:
			return errors.Join(append(errs, fmt.Errorf("the node did not stop within %s: these parts are still running: %s. The "+
				"process ends without them, and the next start repairs what they "+
				"leave", c.StopTimeout+stopMargin, strings.Join(slices.Sorted(maps.Keys(running)), ", ")))...)
		}
	}
	n.release()
	return errors.Join(errs...)
}
