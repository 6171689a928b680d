package sender

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/batches"
)

// Config configures a Sender.
type Config struct {
	// Client sends the requests, and has the id of the producer. It must not produce to the topics
	// of the Sender itself, because sequence numbers belong to the id.
	Client *kgo.Client
	// Producer is the id, and its epoch.
	Producer batches.Producer
	// Compressor compresses the batches; nil: they are not compressed.
	Compressor kgo.Compressor
	// BatchBytes limits a batch before it is compressed; DefaultBatchBytes if 0.
	BatchBytes int
	// BufferedBytes limits what waits, before it is compressed; DefaultBufferedBytes if 0. It may
	// be exceeded by a batch for each caller of Send.
	BufferedBytes int
	// Every is the least time between the beginnings of two requests to a broker. Records that come
	// meanwhile share the next request. 0: a request waits only for those before it.
	Every time.Duration
	// Log logs partitions to which nothing can be written for some time.
	Log *slog.Logger
}

// Defaults of a Config.
const (
	DefaultBatchBytes    = 1_000_012 // Kafka's default limit for a topic
	DefaultBufferedBytes = 64 << 20
)

// requests is how many requests a broker may have at a time: one that it works on, and one that
// waits there. A broker answers the requests of a connection one after the other.
const requests = 2

// Promise gets the outcome of records.
type Promise interface {
	// Expect is called before records of the promise are added to another batch.
	Expect()
	// Settled is called once for each call of Expect, when the outcome of the batch is known.
	Settled(topic string, partition int32, err error)
}

// Records are records to send, numbered from 0.
type Records interface {
	Len() int
	// Place returns the topic and the partition to which record i goes.
	Place(i int32) (topic string, partition int32)
	// Read makes r record i. It need not copy key and value.
	Read(i int32, r *kgo.Record)
}

// Sender produces records under one producer id.
type Sender struct {
	cfg     Config
	hooks   []kgo.HookProduceBatchWritten
	backoff func(tries int) time.Duration
	timeout int32           // milliseconds that brokers may take to replicate a request
	ctx     context.Context // ends with the Sender
	cancel  context.CancelFunc
	fly     func(*link) // starts a flight
	search  func()      // starts the search for leaders
	spare   sync.Pool   // of *batch
	works   sync.Pool   // of *sorting

	mu     sync.Mutex
	room   *sync.Cond // signaled when waiting records become fewer, and at the end
	topics map[string]*topic
	links  map[int32]*link
	failed error // nothing is sent any more

	records, bytes int64 // that wait or are on their way

	lost    []*lane       // lanes without a leader, and lanes that pause
	seeking bool          // a goroutine looks for leaders
	seek    chan struct{} // wakes it
}

// New creates a Sender. Close it before its client.
func New(c Config) *Sender {
	if c.BatchBytes == 0 {
		c.BatchBytes = DefaultBatchBytes
	}
	if c.BufferedBytes == 0 {
		c.BufferedBytes = DefaultBufferedBytes
	}
	s := &Sender{cfg: c, topics: map[string]*topic{}, links: map[int32]*link{}, seek: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.room = sync.NewCond(&s.mu)
	s.spare.New = func() any { return new(batch) }
	s.works.New = func() any { return newSorting() }
	s.fly, s.search = s.startFlight, s.startSearch
	s.take(c.Client)
	return s
}

// take takes from the client's options what its own producer would use.
func (s *Sender) take(client *kgo.Client) {
	s.timeout, s.backoff = 10_000, func(int) time.Duration { return longestPause }
	if d, ok := client.OptValue(kgo.ProduceRequestTimeout).(time.Duration); ok {
		s.timeout = int32(d.Milliseconds())
	}
	if f, ok := client.OptValue(kgo.RetryBackoffFn).(func(int) time.Duration); ok {
		s.backoff = f
	}
	// The list is of a type that the client does not export.
	hooks := reflect.ValueOf(client.OptValue(kgo.WithHooks))
	if list := reflect.TypeFor[[]kgo.Hook](); hooks.IsValid() && hooks.CanConvert(list) {
		all, _ := hooks.Convert(list).Interface().([]kgo.Hook)
		for _, h := range all {
			if h, ok := h.(kgo.HookProduceBatchWritten); ok {
				s.hooks = append(s.hooks, h)
			}
		}
	}
}

// Close ends the Sender. Records that have no outcome yet fail with kgo.ErrClientClosed.
func (s *Sender) Close() {
	s.fail(kgo.ErrClientClosed)
	s.cancel()
}

// Buffered returns the number of records without an outcome, and their bytes.
func (s *Sender) Buffered() (records, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records, s.bytes
}

// Send adds records, and calls p for each batch of which some of them are a part. It copies them.
// Records of a partition are written in their order, behind those of earlier calls. Send waits
// while too much is buffered. If it returns an error, some records were not added, and p gets the
// outcomes of the others.
func (s *Sender) Send(ctx context.Context, records Records, p Promise) error {
	w, ok := s.works.Get().(*sorting)
	if !ok {
		w = newSorting()
	}
	defer s.works.Put(w)
	defer w.clear()
	now := time.Now().UnixMilli()
	defer func() { s.begin(w.lanes) }()
	n := int32(records.Len()) //nolint:gosec // fewer fit into memory
	for from := int32(0); from < n; from += group {
		w.load(records, from, min(from+group, n))
		s.sort(w, records, from, min(from+group, n))
		for i, l := range w.lanes {
			for next := w.heads[i]; next >= 0; {
				if s.full() {
					s.begin(w.lanes) // what was added may be what takes the room
				}
				if err := s.wait(ctx); err != nil {
					return err
				}
				if next = s.add(l, records, w, next, now, p); next >= 0 {
					s.begin(w.lanes[i : i+1])
				}
			}
		}
	}
	return nil
}

// full reports whether there is no room for more.
func (s *Sender) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes >= int64(s.cfg.BufferedBytes)
}

// wait waits until there is room.
func (s *Sender) wait(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes >= int64(s.cfg.BufferedBytes) && s.failed == nil {
		defer guard.OnDone(ctx, "the end of a wait for room", guard.Log(s.cfg.Log, "a set waits for room"), s.room.Broadcast)()
		for s.bytes >= int64(s.cfg.BufferedBytes) && s.failed == nil && ctx.Err() == nil {
			s.room.Wait()
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.failed
}
