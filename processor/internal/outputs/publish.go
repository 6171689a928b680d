package outputs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/processor/internal/batches"
	"github.com/tidemark/tidemark/processor/internal/sender"
)

// Publisher produces the output records of all partitions. It replaces its producer whenever
// abandoned records of it may still be on their way. Records of the next producer come after those
// or replace them (fence.go).
type Publisher struct {
	Ctx      context.Context // ends with the publisher
	Connect  func() (*Producer, error)
	Roster   *Roster
	Fences   *Fencer
	Unread   string // topics in which a value replaces an earlier one
	Channels string
	// ClientProduces leaves all producing to the Kafka client. Otherwise the client produces dead
	// letters only, and a Sender the rest.
	ClientProduces bool
	Compressor     kgo.Compressor
	Partitions     func() int32 // of the output topics
	Named          func()       // called when the group does not have the producer's id yet
	Log            *slog.Logger
	Counts         Counts

	Current atomic.Pointer[Producer]
	tasks   sync.WaitGroup
}

// requestEvery is the least time between the beginnings of two produce requests to a broker. Without it, a node with a
// few thousand events a second sends a request for nearly each of them, which costs the node and the
// broker twice as much CPU for an event. A record that comes alone does not wait.
const requestEvery = 5 * time.Millisecond

// Counts are the metrics of a Publisher.
type Counts struct {
	Fences  prometheus.Counter     // raised fences
	Retried prometheus.Counter     // records that were produced again
	Refused *prometheus.CounterVec // sets that failed for good, by topic
}

// Producer is a client that produces. Brokers and group identify it by its id.
type Producer struct {
	Client *kgo.Client
	Outlet *Outlet
	id     int64
	sender *sender.Sender // nil: the client produces everything
}

// Close ends the producer. Records without an outcome fail.
func (p *Producer) Close() {
	if p.sender != nil {
		p.sender.Close()
	}
	p.Client.Close()
}

// Begin creates the first producer.
func (p *Publisher) Begin() { p.task(p.next) }

// renew abandons a producer, unless that has already happened, and creates another one. The old one
// sends nothing more. The new one publishes once the group has the new id and the old producer is
// fenced.
func (p *Publisher) renew(old *Producer) {
	if old == nil || !p.Current.CompareAndSwap(old, nil) {
		return
	}
	p.Roster.Become(-1)
	old.Outlet.close()
	p.task(func() {
		old.Close()
		p.next()
	})
}

// Buffered returns how many records wait for an outcome, and their bytes, without those of the
// client.
func (p *Publisher) Buffered() (records, bytes int64) {
	if prod := p.Current.Load(); prod != nil && prod.sender != nil {
		return prod.sender.Buffered()
	}
	return 0, 0
}

// RenewNow abandons the current producer, if there is one.
func (p *Publisher) RenewNow() { p.renew(p.Current.Load()) }

// task runs f in a goroutine, and again if it panics: without a producer nothing is published.
func (p *Publisher) task(f func()) {
	p.tasks.Go(func() { guard.Loop(p.Ctx, "the making of a producer", guard.Log(p.Log, "it is begun again"), f) })
}

// next creates a producer, however long that takes.
func (p *Publisher) next() {
	for p.Ctx.Err() == nil {
		prod, err := p.Connect()
		if err == nil {
			ctx, cancel := context.WithTimeout(p.Ctx, 10*time.Second)
			var epoch int16
			prod.id, epoch, err = prod.Client.ProducerID(ctx)
			cancel()
			if err == nil {
				if !p.ClientProduces {
					prod.sender = sender.New(sender.Config{Client: prod.Client, Producer: batches.Producer{ID: prod.id, Epoch: epoch},
						Compressor: p.Compressor, Every: requestEvery, Log: p.Log})
				}
				p.Current.Store(prod)
				p.Roster.Become(prod.id)
				p.Named()
				return
			}
			prod.Client.Close()
		}
		if p.Ctx.Err() == nil {
			p.Log.Warn("nothing can be published yet: the brokers have not given the producer an id", "err", err)
		}
		p.pause(p.Ctx, time.Second)
	}
}

func (p *Publisher) pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// Close ends the publisher. Publish nothing afterwards.
func (p *Publisher) Close(cancel context.CancelFunc) {
	cancel()
	p.tasks.Wait()
	if prod := p.Current.Swap(nil); prod != nil {
		prod.Close()
	}
}

// admit waits until records of a partition may be published, and returns the producer for them. By
// then the group has the producer's id, and the former owners are fenced from the partitions to
// which the records go.
func (p *Publisher) admit(ctx context.Context, n int32, records sender.Records) (*Producer, error) {
	for {
		self, former, wait, owned := p.Roster.Entry(n)
		prod := p.Current.Load()
		switch {
		case !owned: // the partition is being given away, and its worker will learn that soon
			<-ctx.Done()
		case wait != nil:
			select {
			case <-wait:
			case <-ctx.Done():
			}
		case prod == nil || prod.id != self: // the producer is being renewed
		case former && !p.fence(ctx, n, records):
			p.pause(ctx, 100*time.Millisecond)
		default:
			return prod, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// fence raises missing fences, and reports whether all are up.
func (p *Publisher) fence(ctx context.Context, n int32, records sender.Records) bool {
	missing := p.Roster.Missing(n, records, p.Unread, p.Channels)
	if len(missing) == 0 {
		return true
	}
	if err := p.Fences.Raise(ctx, missing); err != nil {
		if ctx.Err() == nil {
			p.Log.Warn("former owners of the partition cannot be fenced yet; the partition publishes nothing until they are",
				"partition", n, "err", err)
		}
		return false
	}
	p.Roster.Raised(missing, p.Unread, p.Channels, p.Partitions())
	p.Counts.Fences.Add(float64(len(missing)))
	p.Log.Info("former owners are fenced from outputs of the partition", "partition", n, "fences", len(missing))
	return true
}

// set holds the records of one partition that are produced together. A partition has at most one
// set at a time, and a set holds each key of the compacted topics once. So producing some of its
// records again never puts an older value after a newer one.
type set struct {
	p      *Publisher
	ctx    context.Context
	number int32 // number of the partition
	done   func(error)

	all Outgoing

	left   atomic.Int64 // outcomes that are missing
	mu     sync.Mutex
	prod   *Producer
	which  []int32 // numbers of the records that are being produced
	failed []int32
	again  map[int32]bool // failed, as a set
	err    error          // the first error that a retry cannot fix, else the last one
	fatal  bool
	tries  int
}

// Publish produces records of a partition and calls done once, when all are acknowledged or the
// first fails for good. Until ctx ends, it produces records again that fail because of the brokers'
// state. Such a record may have been appended nevertheless; repeating it is harmless.
func (p *Publisher) Publish(ctx context.Context, number int32, all Outgoing, done func(error)) {
	s := &set{p: p, ctx: ctx, number: number, done: done, all: all}
	// The client blocks when its buffers are full.
	guard.Go("publishing", func(e *guard.Error) { done(e) }, func() {
		which := make([]int32, all.Len())
		for i := range which {
			which[i] = int32(i) //nolint:gosec // a drain has fewer
		}
		s.produce(which)
	})
}

func (s *set) produce(which []int32) {
	prod, err := s.p.admit(s.ctx, s.number, some{&s.all, which})
	if err != nil {
		s.done(err)
		return
	}
	s.prod, s.which = prod, which
	s.left.Store(1) // this function
	own, others := s.split(which)
	if len(own) > 0 {
		records := some{&s.all, own}
		if err := prod.sender.Send(s.ctx, records, s); err != nil {
			topic, partition := records.Place(0)
			s.refuse(topic, partition, err, own...)
		}
	}
	s.left.Add(int64(len(others)))
	records := make([]kgo.Record, len(others))
	for n, i := range others {
		r := &records[n]
		s.all.Read(i, r)
		prod.Client.Produce(s.ctx, r, func(_ *kgo.Record, err error) { s.promise(i, err) })
	}
	s.settle()
}

// split returns the records that the producer's sender sends, and those that its client produces:
// dead letters, which may be larger than a batch.
func (s *set) split(which []int32) (own, others []int32) {
	if s.prod.sender == nil {
		return nil, which
	}
	if !slices.ContainsFunc(which, s.all.isDead) {
		return which, nil
	}
	for _, i := range which {
		if s.all.isDead(i) {
			others = append(others, i)
		} else {
			own = append(own, i)
		}
	}
	return own, others
}

// promise gets the outcome of a record from the client.
func (s *set) promise(i int32, err error) {
	if err != nil {
		topic, partition := s.all.Place(i)
		s.refuse(topic, partition, err, i)
	}
	s.settle()
}

// Expect and Settled implement sender.Promise.

func (s *set) Expect() { s.left.Add(1) }

func (s *set) Settled(topic string, partition int32, err error) {
	if err != nil {
		// Those of the partition in batches before are produced again, too: all follow each other.
		var failed []int32
		for _, i := range s.which {
			if t, n := s.all.Place(i); t == topic && n == partition {
				failed = append(failed, i)
			}
		}
		s.refuse(topic, partition, err, failed...)
	}
	s.settle()
}

// refuse notes records that failed.
func (s *set) refuse(topic string, partition int32, err error, records ...int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.again == nil {
		s.again = map[int32]bool{}
	}
	for _, i := range records {
		if !s.again[i] {
			s.again[i] = true
			s.failed = append(s.failed, i)
		}
	}
	if s.fatal {
		return
	}
	s.err, s.fatal = fmt.Errorf("%s/%d: %w", topic, partition, kafkaadmin.Refused(topic, "Write", err)), !retriable(err)
	// A worker that ends abandons its records in flight. That does not count as a refusal.
	if s.fatal && s.ctx.Err() == nil {
		s.p.Counts.Refused.WithLabelValues(topic).Inc()
	}
}

func (s *set) settle() {
	if s.left.Add(-1) == 0 {
		s.finish()
	}
}

func (s *set) finish() {
	s.mu.Lock()
	failed, err, fatal := s.failed, s.err, s.fatal
	s.failed, s.again, s.err = nil, nil, nil
	s.mu.Unlock()
	if err == nil || fatal || s.ctx.Err() != nil {
		s.done(err)
		return
	}
	if disowned(err) {
		s.p.renew(s.prod)
	}
	s.tries++
	s.p.Counts.Retried.Add(float64(len(failed)))
	guard.AfterFunc(min(time.Duration(s.tries)*50*time.Millisecond, time.Second), "publishing", func(e *guard.Error) { s.done(e) },
		func() { s.produce(failed) })
}

// disowned reports whether the brokers no longer accept a producer: it is fenced, or they have lost
// its sequence numbers.
func disowned(err error) bool {
	for _, known := range []error{
		kerr.OutOfOrderSequenceNumber, kerr.InvalidProducerEpoch, kerr.UnknownProducerID, kerr.InvalidProducerIDMapping,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var data *kgo.ErrDataLoss
	return errors.As(err, &data)
}

// retriable reports whether an error may pass by itself. A too large record or a missing right
// needs a person.
func retriable(err error) bool {
	for _, known := range []error{kgo.ErrRecordTimeout, kgo.ErrRecordRetries, kgo.ErrClientClosed} {
		if errors.Is(err, known) {
			return true
		}
	}
	return disowned(err) || kerr.IsRetriable(err)
}
