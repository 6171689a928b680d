package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kprom"

	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/ui"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/query"
)

// Node is a node that was made and not yet run.
type Node struct {
	cfg      Config
	registry *prometheus.Registry
	memory   config.Memory // of a node with a limit
	blocks   *pebble.Cache // shared by the stores; nil without a limit

	redis     *redis.Client // of the role cache
	client    *kgo.Client   // asks about topics, and produces what is published
	processor *processor.Processor
	sockets   *redis.Client    // of the role gateway
	gateway   *gateway.Gateway // nil without the role
	router    *router          // instead of the processor's own answers, where this node folds nothing
	ui        *ui.UI           // nil: no page
	parts     []part
	ran       bool

	stopping context.Context // done when the node begins to stop
	stop     context.CancelFunc
	server   *http.Server
}

// part is something that runs until its context is done.
type part struct {
	name  string
	run   func(context.Context) error
	ready func() (bool, []string)
}

// New connects to Kafka and makes the node. It fails, in words, if the brokers do not answer or the topics are not
// there. The caller runs the node, or closes the listener.
func New(ctx context.Context, c Config) (_ *Node, err error) {
	c, err = c.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: c, registry: obs.NewRegistry(c.Build)}
	n.stopping, n.stop = context.WithCancel(context.Background())
	if n.client, err = n.connect(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			n.release()
		}
	}()
	partitions, err := n.partitions(ctx)
	if err != nil {
		return nil, err
	}
	if c.Memory > 0 {
		if n.memory, err = config.PlanMemory(c.Memory, partitions); err != nil {
			return nil, err
		}
	}
	if c.Roles.Has(config.RoleProcessor) || c.Roles.Has(config.RoleQuery) {
		if err := n.addProcessor(partitions); err != nil {
			return nil, err
		}
	}
	if c.Roles.Has(config.RoleCache) {
		if err := n.addCache(); err != nil {
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
	n.server = query.NewServer(n.handler())
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

// partitions is the partition count of the inputs. That all topics fit together is checked by who uses them.
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
		Brokers: c.Kafka.Brokers, ClientOptions: c.Kafka.Options, Group: c.Group, Topics: c.Topics, DataDir: c.DataDir,
		Skip: c.Skip, Standbys: c.Standbys, InstanceID: c.InstanceID, SessionTimeout: c.SessionTimeout, StoreRetention: c.StoreRetention, Breaker: processor.Breaker{Off: c.NoBreaker},
		Snapshots: c.Snapshots, SnapshotEvery: c.SnapshotEvery,
		Advertise: c.Advertise,
		Settings:  c.Settings, StopTimeout: c.StopTimeout, Registerer: n.registry, Logger: c.Logger.With("role", "processor"),
	}
	if n.memory.Limit > 0 {
		n.blocks = pebble.NewCache(int64(n.memory.Cache))
		pc.Cache, pc.MemTableSize, pc.QueueBytes = n.blocks, uint64(n.memory.MemTable), int64(n.memory.Queue)
	}
	p, err := processor.New(pc)
	if err != nil {
		return err
	}
	n.processor = p
	if !c.Roles.Has(config.RoleProcessor) {
		n.router = &router{queries{p}, partitions}
		return nil
	}
	n.parts = append(n.parts, part{"processor", p.Run, p.Ready})
	return nil
}

// Ready reports whether all roles of this node do their work, with a line for each partition and part.
func (n *Node) Ready() obs.Readiness {
	r := obs.Readiness{Ready: true}
	if n.stopping.Err() != nil {
		r = obs.Readiness{Lines: []string{"stopping"}}
	}
	for _, p := range n.parts {
		ready, lines := p.ready()
		r.Ready = r.Ready && ready
		r.Lines = append(r.Lines, lines...)
	}
	return r
}

// handler serves everything of the node.
func (n *Node) handler() http.Handler {
	var rest http.Handler
	if n.processor != nil { // whose partitions nobody else can answer for, also where the role query is other nodes'
		var producer *kgo.Client
		if n.cfg.Roles.Has(config.RoleQuery) {
			producer = n.client
		}
		rest = query.Handler(query.Config{
			Node: n.answers(), Topics: n.cfg.Topics.Inputs, Self: n.cfg.Advertise, Producer: producer, Stopping: n.stopping, Verifier: n.cfg.Verifier,
			Transport:  query.PeerTransport(n.cfg.PeerTLS),
			Registerer: n.registry, Logger: n.cfg.Logger.With("role", "query"),
		})
	}
	mux := obs.Mux(n.Ready, n.registry, rest)
	if s := n.socket(); s != nil {
		mux.Handle("GET /v1/socket", s)
	}
	if n.cfg.Roles.Has(config.RoleProcessor) {
		mux.Handle("/admin/", n.admin())
	}
	if n.ui != nil {
		mux.Handle("GET /{$}", n.ui)
		mux.Handle("/ui/", n.ui)
	}
	return mux
}

func (n *Node) answers() query.Node {
	if n.router != nil {
		return n.router
	}
	return queries{n.processor}
}

// Run serves until ctx is done, then stops in order and returns nil. If a part fails the node stops as well, and the
// error says which.
//
// The order of a stop: /readyz says so and streams end, calls under way are answered, then partitions finish, publish,
// write their stores and are handed over. It is bounded by StopTimeout.
func (n *Node) Run(ctx context.Context) error {
	c := &n.cfg
	if n.memory.Limit > 0 {
		n.memory.Apply()
		c.Logger.Info("memory", "shares", n.memory.String())
	}
	n.ran = true
	partsCtx, stopParts := context.WithCancel(context.WithoutCancel(ctx))
	defer stopParts()

	type ended struct {
		name string
		err  error
	}
	results := make(chan ended, len(n.parts)+1)
	for _, p := range n.parts {
		go func() { results <- ended{p.name, p.run(partsCtx)} }()
	}
	go func() {
		serve := n.server.Serve
		if c.TLS != nil {
			n.server.TLSConfig = c.TLS
			serve = func(l net.Listener) error { return n.server.ServeTLS(l, "", "") }
		}
		err := serve(c.Listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		results <- ended{"http", err}
	}()
	c.Logger.Info("node started", "version", c.Build.Version, "roles", c.Roles.String(), "listen", c.Listener.Addr().String(),
		"brokers", strings.Join(c.Kafka.Brokers, ","), "group", c.Group)

	var errs []error
	running := len(n.parts) + 1
	note := func(e ended) {
		running--
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
	n.drain()
	stopParts()
	for running > 0 {
		select {
		case e := <-results:
			note(e)
		case <-deadline.C:
			return errors.Join(append(errs, fmt.Errorf("the node did not stop within %s: it is left as it is, which the next start repairs",
				c.StopTimeout+stopMargin))...)
		}
	}
	n.release()
	return errors.Join(errs...)
}

// stopMargin is what a stop may take beyond what its parts may take.
const stopMargin = 5 * time.Second

// drainTimeout bounds how long calls under way may take when the node stops.
const drainTimeout = 5 * time.Second

// drain answers the calls that are under way, and cuts off what takes longer than drainTimeout.
func (n *Node) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := n.server.Shutdown(ctx); err != nil {
		n.cfg.Logger.Warn("calls were cut off", "err", err)
		_ = n.server.Close() // what is left is being cut off
	}
}

// release gives back what New took.
func (n *Node) release() {
	n.stop()
	if n.processor != nil && (n.router != nil || !n.ran) {
		closeUnrun(n.processor)
	}
	n.client.Close()
	if n.sockets != nil {
		_ = n.sockets.Close() // presence runs out by itself
	}
	if n.redis != nil {
		_ = n.redis.Close() // what it had to write is written, or is written again
	}
	if n.blocks != nil {
		n.blocks.Unref()
	}
}
