package processor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/projections"
)

// Processor is one member of the group. Make it with New, then Run it once; its other methods may be called at any time
// from any goroutine.
type Processor struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics

	balancer  *balancer
	directory *directory
	relayKey  string // of this member; see memberData
	producer  *kgo.Client
	admin     *kadm.Client
	publisher *publisher
	committer *committer
	consumer  *kgo.Client // set by Run before anything of it is called
	standbys  *standbys

	// inputsOnly says that the outputs need not be there: nothing is published (Rebuild).
	inputsOnly bool

	cluster  atomic.Pointer[identity]
	groupErr atomic.Pointer[error] // why the member is not in its group
	ended    atomic.Bool
	queued   atomic.Int64 // bytes of fetched records in all inboxes

	stopping chan struct{} // closed when the partitions are to end

	mu      sync.RWMutex
	joined  bool // it is in its group, and workers are all that it owns there
	workers map[int32]*worker
	leaving map[int32]<-chan struct{} // closed when the last worker of a partition that was given up is done
	held    []int32                   // partitions with a store on disk

	snapshotting sync.Mutex // held while a snapshot is taken
}

// identity is what the cluster says of itself and the inputs.
type identity struct {
	id         string
	topics     [events.NumInputs]projections.TopicIdentity
	partitions int32
}

// New makes a processor. It does not wait for the brokers.
func New(cfg Config) (*Processor, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	var held []int32
	if cfg.DataDir != "" {
		if err := os.MkdirAll(cfg.DataDir, 0o755); err != nil {
			return nil, fmt.Errorf("the data directory cannot be made (%w): name with --data-dir one that this user may write to", err)
		}
		if held, err = heldIn(cfg.DataDir); err != nil {
			return nil, err
		}
	}
	relayKey := rand.Text()
	p := &Processor{
		relayKey: relayKey,
		cfg:      cfg, log: cfg.Logger, metrics: newMetrics(cfg.Topics), workers: map[int32]*worker{}, leaving: map[int32]<-chan struct{}{}, held: held,
		stopping: make(chan struct{}),
		balancer: newBalancer(cfg.Topics.Inputs[:], memberData{Advertise: cfg.Advertise, RelayKey: relayKey, Held: held, Standbys: cfg.Standbys}),
	}
	p.standbys = newStandbys(p)
	p.balancer.near, p.balancer.positions, p.balancer.assigned = cfg.NearRecords, p.positions, p.standbys.assigned
	if p.producer, err = kgo.NewClient(p.producerOptions()...); err != nil {
		return nil, fmt.Errorf("processor: producer: %w", err)
	}
	p.admin = kadm.NewClient(p.producer)
	p.publisher = &publisher{client: p.producer, metrics: p.metrics}
	p.directory = newDirectory(p.admin, cfg.Group, cfg.Topics.Inputs[events.Messages], cfg.now)
	return p, nil
}

// Run joins the group and folds until ctx is done; then it finishes what it has begun, publishes, writes the stores,
// commits and leaves the group, and returns nil. It returns an error if the topics are not what a processor needs. It may
// be called once.
func (p *Processor) Run(ctx context.Context) error {
	defer p.producer.Close()
	defer p.ended.Store(true)
	unregister, err := p.metrics.register(p.cfg.Registerer, collector{p})
	if err != nil {
		return err
	}
	defer unregister()
	if err := p.identify(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if p.cfg.DataDir == "" {
		return errors.New("processor: no data directory is configured")
	}
	if p.consumer, err = kgo.NewClient(p.consumerOptions()...); err != nil {
		return fmt.Errorf("processor: consumer: %w", err)
	}
	tail, err := kgo.NewClient(p.tailOptions()...)
	if err != nil {
		p.consumer.Close()
		return fmt.Errorf("processor: consumer of standbys: %w", err)
	}
	p.standbys.feeder = newFeeder(tail, p.cfg.Topics.Inputs)
	p.committer = &committer{
		commit: commitSync(p.consumer), topics: p.cfg.Topics.Inputs, every: p.cfg.CommitEvery, log: p.log,
		metrics: p.metrics, now: p.cfg.now, wake: make(chan struct{}, 1),
		pending: map[int32]projections.Position{}, floor: map[int32]projections.Position{},
	}
	// From here on callbacks may run: the group is joined when there is a topic to consume.
	p.consumer.AddConsumeTopics(p.cfg.Topics.Inputs[:]...)

	var others sync.WaitGroup
	others.Go(func() { p.committer.run(ctx) })
	others.Go(func() { p.standbys.run(ctx) })
	others.Go(func() { p.standbys.feeder.run(ctx, p.deliver, p.breathe) })
	others.Go(func() { p.runSnapshots(ctx) })
	others.Go(func() { p.runSweeps(ctx) })
	others.Go(func() { p.watchTopics(ctx) })
	p.poll(ctx)
	others.Wait()
	p.shutdown()
	return nil
}

// shutdown ends all partitions in order while the member still heartbeats, and leaves the group.
func (p *Processor) shutdown() {
	close(p.stopping)
	p.log.Info("stopping", "partitions", len(p.owned()))
	p.standbys.stop()
	owned := p.owned()
	p.release(p.ownedNumbers(), stopClean)
	p.snapshotStopped(owned)
	ctx, cancel := context.WithTimeout(context.Background(), min(p.cfg.StopTimeout, leaveTimeout))
	defer cancel()
	p.consumer.AllowRebalance()
	if err := p.consumer.LeaveGroupContext(ctx); err != nil {
		p.log.Warn("the group was not left in order: its other members wait for the session to time out", "err", err)
	}
	p.consumer.CloseAllowingRebalance()
	p.awaitStores()
	p.standbys.feeder.client.Close()
	p.log.Info("stopped")
}

// leaveTimeout bounds the leaving of the group, which is a courtesy to its other members.
const leaveTimeout = 5 * time.Second

// awaitStores waits for stores that were still being opened when their partitions went.
func (p *Processor) awaitStores() {
	p.mu.RLock()
	leaving := maps.Clone(p.leaving)
	p.mu.RUnlock()
	timeout := time.After(p.cfg.StopTimeout)
	for n, done := range leaving {
		select {
		case <-done:
		case <-timeout:
			p.log.Warn("a store is still busy; it is left as it is, which is valid", "partition", n)
			return
		}
	}
}

// identify learns what the cluster and the topics are. It waits for brokers that cannot be reached.
func (p *Processor) identify(ctx context.Context) error {
	began := p.cfg.now()
	for try := 0; ; try++ {
		id, err := p.lookUp(ctx)
		if err == nil {
			p.cluster.Store(id)
			return nil
		}
		if isWrong(err) && p.cfg.now().Sub(began) >= kafkaadmin.TopicsPatience {
			return err
		}
		p.setGroupErr(err)
		if ctx.Err() == nil {
			p.log.Warn("the cluster cannot be asked about the topics yet", "err", err)
		}
		select {
		case <-time.After(min(time.Duration(try+1)*200*time.Millisecond, 5*time.Second)):
		case <-ctx.Done():
			return nil // told to stop before there was anything to do
		}
	}
}

// topicsError says that the topics are not what a processor needs.
type topicsError struct{ text string }

func (e *topicsError) Error() string { return e.text }

// isWrong reports whether err is about the topics, not about asking.
func isWrong(err error) bool {
	var wrong *topicsError
	return errors.As(err, &wrong) || errors.Is(err, kafkaadmin.ErrNoTopic)
}

// lookUp asks the brokers for the identities of the topics and checks their partition counts. The outputs have those of
// the inputs too: the fold says which partition a delta belongs to.
func (p *Processor) lookUp(ctx context.Context) (*identity, error) {
	t := &p.cfg.Topics
	names := slices.Clone(t.Inputs[:])
	counted := len(names) // those that need the same number of partitions
	if !p.inputsOnly {
		names = append(names, t.Unread, t.Channels, t.Receipts, t.DeadLetters)
		counted = len(names) - 1
	}
	cluster, ids, counts, err := kafkaadmin.Identities(ctx, p.admin, names)
	if err != nil {
		return nil, err
	}
	id := &identity{id: cluster, partitions: counts[t.Inputs[0]]}
	for _, name := range names[:counted] {
		if counts[name] != id.partitions {
			return nil, &topicsError{fmt.Sprintf("topic %s has %d partitions and topic %s has %d: inputs and outputs must "+
				"have the same number; `tidemark topics check` says what is expected", t.Inputs[0], id.partitions, name, counts[name])}
		}
	}
	for i, name := range t.Inputs {
		id.topics[i] = projections.TopicIdentity{Name: name, ID: ids[name]}
	}
	return id, nil
}

// identityOf is what the store of a partition belongs to.
func (p *Processor) identityOf(number int32) projections.Identity {
	id := p.cluster.Load()
	return projections.Identity{
		ClusterID: id.id, Topics: id.topics, Partition: number, Partitions: id.partitions, Settings: p.cfg.Settings,
	}
}

func (p *Processor) setGroupErr(err error) {
	if err == nil {
		p.groupErr.Store(nil)
		return
	}
	p.groupErr.Store(&err)
}
