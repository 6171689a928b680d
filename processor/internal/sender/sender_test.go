package sender

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
	"github.com/tidemark/tidemark/processor/internal/batches"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// topicName is the topic of the tests on embedded brokers.
const topicName = "unread"

// start returns a Sender over a client with options.
func start(t *testing.T, brokers []string, change func(*Config), opts ...kgo.Opt) *Sender {
	t.Helper()
	cl := testkit.Client(t, brokers, append([]kgo.Opt{kgo.StopProducerOnDataLossDetected()}, opts...)...)
	id, epoch, err := cl.ProducerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Client: cl, Producer: batches.Producer{ID: id, Epoch: epoch}, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&c)
	}
	s := New(c)
	t.Cleanup(s.Close)
	return s
}

// outcomes is a Promise.
type outcomes struct {
	mu      sync.Mutex
	missing int
	all     chan struct{}
	errs    []error
}

func (o *outcomes) Expect() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.missing++
}

func (o *outcomes) Settled(topic string, partition int32, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.errs = append(o.errs, fmt.Errorf("%s/%d: %w", topic, partition, err))
	}
	if o.missing--; o.missing == 0 {
		close(o.all)
	}
}

// list has records in the client's form.
type list []*kgo.Record

func (l list) Len() int                      { return len(l) }
func (l list) Place(i int32) (string, int32) { return l[i].Topic, l[i].Partition }
func (l list) Read(i int32, r *kgo.Record)   { *r = *l[i] }

// promised is a set that was sent.
type promised struct {
	*outcomes
	t *testing.T
}

// post sends records without waiting for their outcome.
func post(t *testing.T, s *Sender, records ...*kgo.Record) promised {
	t.Helper()
	o := &outcomes{all: make(chan struct{})}
	o.Expect() // until all are added
	err := s.Send(t.Context(), list(records), o)
	o.Settled("all", 0, err)
	return promised{o, t}
}

// errs waits for the outcome.
func (p promised) wait() []error {
	p.t.Helper()
	select {
	case <-p.all:
	case <-time.After(30 * time.Second):
		p.t.Fatal("records have no outcome after 30 s")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errs
}

func (p promised) ok() {
	p.t.Helper()
	if errs := p.wait(); len(errs) > 0 {
		p.t.Fatal(errs)
	}
}

func (p promised) failed(want error) {
	p.t.Helper()
	errs := p.wait()
	if len(errs) == 0 {
		p.t.Fatalf("the records are written, want %v", want)
	}
	for _, err := range errs {
		if !strings.Contains(err.Error(), want.Error()) {
			p.t.Errorf("%v, want %v", err, want)
		}
	}
}

// numbered returns records with the numbers from and up to before, one after the other over the
// partitions.
func numbered(topic string, partitions int32, from, before int) (list []*kgo.Record) {
	for i := from; i < before; i++ {
		list = append(list, &kgo.Record{Topic: topic, Partition: int32(i) % partitions, Key: []byte("key"), Value: []byte(strconv.Itoa(i))})
	}
	return list
}

// holds checks that partitions have the numbered records once each, in order.
func holds(t *testing.T, brokers []string, topic string, partitions int32, before int) {
	t.Helper()
	read := map[int32][]string{}
	cl := testkit.Client(t, brokers, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	more := func() bool {
		n := 0
		for _, list := range read {
			n += len(list)
		}
		return n < before
	}
	for more() && ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { read[r.Partition] = append(read[r.Partition], string(r.Value)) })
	}
	short, end := context.WithTimeout(t.Context(), 200*time.Millisecond) // repetitions would follow
	defer end()
	cl.PollFetches(short).EachRecord(func(r *kgo.Record) { read[r.Partition] = append(read[r.Partition], string(r.Value)) })
	for p := range partitions {
		var want []string
		for i := int(p); i < before; i += int(partitions) {
			want = append(want, strconv.Itoa(i))
		}
		if !slices.Equal(read[p], want) {
			t.Errorf("partition %d has %d records, want %d, each once and in order: %v", p, len(read[p]), len(want), read[p])
		}
	}
}

// TestSendWritesInOrder: sets of several goroutines are written once, each in its order, in batches
// of any length.
func TestSendWritesInOrder(t *testing.T) {
	for _, limit := range []int{100, 1000, DefaultBatchBytes} {
		k := testkit.FakeKafka(t, kfake.NumBrokers(3), kfake.SeedTopics(5, topicName))
		s := start(t, k.ListenAddrs(), func(c *Config) { c.BatchBytes = limit })
		var sets []promised
		for i := range 20 {
			sets = append(sets, post(t, s, numbered(topicName, 5, i*100, (i+1)*100)...))
		}
		for _, p := range sets {
			p.ok()
		}
		holds(t, k.ListenAddrs(), topicName, 5, 2000)
		if records, bytes := s.Buffered(); records != 0 || bytes != 0 {
			t.Errorf("%d records with %d bytes are buffered at the end", records, bytes)
		}
	}
}

// TestCodecs: the Kafka client's consumer reads what was compressed by any codec.
func TestCodecs(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(2, topicName))
	for i, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		compressor, err := kgo.DefaultCompressor(codec)
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, k.ListenAddrs(), func(c *Config) { c.Compressor = compressor })
		post(t, s, numbered(topicName, 2, i*1000, (i+1)*1000)...).ok()
	}
	holds(t, k.ListenAddrs(), topicName, 2, 5000)
}

// TestTransientRefusals: records that brokers refuse for some time are written once.
func TestTransientRefusals(t *testing.T) {
	for _, err := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.NotEnoughReplicas, kerr.UnknownTopicOrPartition,
		kerr.KafkaStorageError, kerr.LeaderNotAvailable, kerr.UnknownTopicID} {
		k := testkit.FakeKafka(t, kfake.NumBrokers(3), kfake.SeedTopics(3, topicName))
		s := start(t, k.ListenAddrs(), nil)
		fault := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: err, Count: 3, Partitions: []int32{1}})
		post(t, s, numbered(topicName, 3, 0, 30)...).ok()
		post(t, s, numbered(topicName, 3, 30, 60)...).ok()
		if fault.Hits() != 3 {
			t.Errorf("%v: met %d times, want 3", err, fault.Hits())
		}
		holds(t, k.ListenAddrs(), topicName, 3, 60)
	}
}

// TestLeadersMove: records follow leaders that move.
func TestLeadersMove(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.NumBrokers(3), kfake.SeedTopics(4, topicName))
	s := start(t, k.ListenAddrs(), nil)
	for i := range 10 {
		p := post(t, s, numbered(topicName, 4, i*100, (i+1)*100)...)
		k.ShufflePartitionLeaders()
		p.ok()
	}
	holds(t, k.ListenAddrs(), topicName, 4, 1000)
}

// TestLostRequestsAndAnswers: connections end in the middle of requests and of answers. What was
// written already is not written twice, and its outcome is a success.
func TestLostRequestsAndAnswers(t *testing.T) {
	for _, half := range []proxy.Half{proxy.Request, proxy.Answer} {
		k := testkit.FakeKafka(t, kfake.SeedTopics(2, topicName))
		line := proxy.NewLine(t)
		s := start(t, k.ListenAddrs(), nil, kgo.Dialer(line.Dialer(nil)))
		cut := line.CutKafka(kmsg.Produce, half, 3)
		for i := range 6 {
			post(t, s, numbered(topicName, 2, i*10, (i+1)*10)...).ok()
		}
		select {
		case <-cut:
		default:
			t.Errorf("half %d: not cut three times", half)
		}
		holds(t, k.ListenAddrs(), topicName, 2, 60)
	}
}

// TestDuplicatesCount: a batch that the broker has already is written.
func TestDuplicatesCount(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(1, topicName))
	s := start(t, k.ListenAddrs(), nil)
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.DuplicateSequenceNumber})
	post(t, s, numbered(topicName, 1, 0, 10)...).ok()
}

// TestAFrozenBroker: no byte passes for longer than a request may take. The records are written
// once when the network is back.
func TestAFrozenBroker(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(2, topicName))
	line := proxy.NewLine(t)
	s := start(t, k.ListenAddrs(), nil, kgo.Dialer(line.Dialer(nil)), kgo.ProduceRequestTimeout(100*time.Millisecond), kgo.RequestTimeoutOverhead(200*time.Millisecond))
	post(t, s, numbered(topicName, 2, 0, 10)...).ok()
	line.Freeze(proxy.Down)
	p := post(t, s, numbered(topicName, 2, 10, 20)...)
	time.Sleep(time.Second)
	line.Mend()
	p.ok()
	post(t, s, numbered(topicName, 2, 20, 30)...).ok()
	holds(t, k.ListenAddrs(), topicName, 2, 30)
}

// TestThrottled: the next request waits as long as the broker says.
func TestThrottled(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(1, topicName))
	var mu sync.Mutex
	var at []time.Time
	k.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		mu.Lock()
		defer mu.Unlock()
		k.KeepControl()
		if at = append(at, time.Now()); len(at) > 1 {
			return nil, nil, false
		}
		asked := r.(*kmsg.ProduceRequest)
		answer := asked.ResponseKind().(*kmsg.ProduceResponse)
		answer.ThrottleMillis = 300
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = asked.Topics[0].Topic, asked.Topics[0].TopicID
		p := kmsg.NewProduceResponseTopicPartition()
		p.ErrorCode = kerr.RequestTimedOut.Code
		topic.Partitions = append(topic.Partitions, p)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	s := start(t, k.ListenAddrs(), nil)
	post(t, s, numbered(topicName, 1, 0, 10)...).ok()
	mu.Lock()
	defer mu.Unlock()
	if len(at) != 2 || at[1].Sub(at[0]) < 300*time.Millisecond {
		t.Errorf("requests at %v, want two with 300 ms between them", at)
	}
	holds(t, k.ListenAddrs(), topicName, 1, 10)
}

// TestEvery: a request begins Config.Every after the last one, with all that came meanwhile. Records
// that come later than that do not wait.
func TestEvery(t *testing.T) {
	const every = time.Second
	k := testkit.FakeKafka(t, kfake.SeedTopics(3, topicName))
	var mu sync.Mutex
	var at []time.Time
	k.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		mu.Lock()
		defer mu.Unlock()
		k.KeepControl()
		at = append(at, time.Now())
		return nil, nil, false
	})
	s := start(t, k.ListenAddrs(), func(c *Config) { c.Every = every })
	first := time.Now()
	post(t, s, numbered(topicName, 3, 0, 3)...).ok()
	answered := time.Since(first)
	var later []promised
	for i := 3; i < 30; i += 3 {
		later = append(later, post(t, s, numbered(topicName, 3, i, i+3)...))
	}
	for _, p := range later {
		p.ok()
	}
	time.Sleep(every)
	alone := time.Now()
	post(t, s, numbered(topicName, 3, 30, 33)...).ok()
	waited := time.Since(alone)
	mu.Lock()
	defer mu.Unlock()
	if len(at) >= 1+len(later) {
		t.Errorf("%d requests for %d sets of records", len(at), 2+len(later))
	}
	const slack = every / 2 // the first request dials before the broker gets it
	for i := range len(at) - 1 {
		if gap := at[i+1].Sub(at[i]); gap < every-slack {
			t.Errorf("a request %s after the one before, want %s", gap, every)
		}
	}
	if answered >= every || waited >= every {
		t.Errorf("records that came alone waited %s and %s, want less than %s", answered, waited, every)
	}
	holds(t, k.ListenAddrs(), topicName, 3, 33)
}

// TestDisownedProducer: once a broker does not accept the producer, all records fail, and nothing
// more is sent.
func TestDisownedProducer(t *testing.T) {
	for _, err := range []*kerr.Error{kerr.OutOfOrderSequenceNumber, kerr.UnknownProducerID, kerr.InvalidProducerEpoch} {
		k := testkit.FakeKafka(t, kfake.SeedTopics(2, topicName))
		s := start(t, k.ListenAddrs(), nil)
		post(t, s, numbered(topicName, 2, 0, 10)...).ok()
		k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: err, Partitions: []int32{0}})
		post(t, s, numbered(topicName, 1, 10, 12)...).failed(err)
		sent := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Count: -1, Observe: true})
		post(t, s, numbered(topicName, 2, 12, 20)...).failed(err)
		if sent.Hits() > 0 {
			t.Errorf("%v: %d more requests", err, sent.Hits())
		}
	}
}

// TestRefusedRecords: records that may not be written fail, and the next ones of the partition are
// accepted under the same sequence number.
func TestRefusedRecords(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(2, topicName))
	s := start(t, k.ListenAddrs(), nil)
	post(t, s, numbered(topicName, 2, 0, 10)...).ok()
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed})
	post(t, s, numbered(topicName, 2, 10, 20)...).failed(kerr.TopicAuthorizationFailed)
	post(t, s, numbered(topicName, 2, 10, 20)...).ok()
	holds(t, k.ListenAddrs(), topicName, 2, 20)
}

// TestRefusedAfterAnUnsureTry: a batch is written and its answer is lost; then the right to write
// is. The next batch must not get the same sequence number, or the broker would take it for the one
// before and drop it. So the producer ends.
func TestRefusedAfterAnUnsureTry(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(1, topicName))
	line := proxy.NewLine(t)
	s := start(t, k.ListenAddrs(), nil, kgo.Dialer(line.Dialer(nil)))
	post(t, s, numbered(topicName, 1, 0, 10)...).ok()
	line.CutKafka(kmsg.Produce, proxy.Answer, 1)
	var tries atomic.Int64
	k.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		tries.Add(1)
		return nil, nil, false
	})
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed, When: func(kmsg.Request) bool { return tries.Load() > 1 }})
	post(t, s, numbered(topicName, 1, 10, 20)...).failed(kerr.TopicAuthorizationFailed)
	post(t, s, numbered(topicName, 1, 20, 30)...).failed(kerr.OutOfOrderSequenceNumber)
}

// TestTooLargeBatches: a broker with a lower limit gets halves; a single record that is too large
// fails, and others are written.
func TestTooLargeBatches(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(1, topicName))
	const limit = 500
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.MessageTooLarge, Count: -1, When: func(r kmsg.Request) bool {
		return len(r.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records) > limit
	}})
	s := start(t, k.ListenAddrs(), nil)
	post(t, s, numbered(topicName, 1, 0, 1000)...).ok()
	post(t, s, &kgo.Record{Topic: topicName, Value: make([]byte, limit)}).failed(kerr.MessageTooLarge)
	post(t, s, numbered(topicName, 1, 1000, 1500)...).ok()
	holds(t, k.ListenAddrs(), topicName, 1, 1500)
	if records, bytes := s.Buffered(); records != 0 || bytes != 0 {
		t.Errorf("%d records with %d bytes are buffered at the end", records, bytes)
	}
}

// TestDeniedTopic: a topic that metadata refuses fails its records, and those of others are
// written.
func TestDeniedTopic(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(1, topicName, "secret"))
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Err: kerr.TopicAuthorizationFailed, Count: -1, Topic: "secret"})
	s := start(t, k.ListenAddrs(), nil)
	denied := post(t, s, numbered("secret", 1, 0, 10)...)
	post(t, s, numbered(topicName, 1, 0, 10)...).ok()
	denied.failed(kerr.TopicAuthorizationFailed)
	holds(t, k.ListenAddrs(), topicName, 1, 10)
}

// TestCloseFailsWhatWaits: records without an outcome fail, and so does everything later.
func TestCloseFailsWhatWaits(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(2, topicName))
	line := proxy.NewLine(t)
	s := start(t, k.ListenAddrs(), nil, kgo.Dialer(line.Dialer(nil)))
	post(t, s, numbered(topicName, 2, 0, 10)...).ok()
	line.Freeze()
	var sets []promised
	for i := 1; i < 5; i++ {
		sets = append(sets, post(t, s, numbered(topicName, 2, i*10, (i+1)*10)...))
	}
	s.Close()
	line.Cut()
	for _, p := range sets {
		p.failed(kgo.ErrClientClosed)
	}
	post(t, s, numbered(topicName, 2, 0, 10)...).failed(kgo.ErrClientClosed)
	if records, bytes := s.Buffered(); records != 0 || bytes != 0 {
		t.Errorf("%d records with %d bytes are buffered at the end", records, bytes)
	}
}

// TestFullBuffer: a set waits for room, and no longer when its context ends.
func TestFullBuffer(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(1, topicName))
	line := proxy.NewLine(t)
	s := start(t, k.ListenAddrs(), func(c *Config) { c.BatchBytes, c.BufferedBytes = 1000, 3000 }, kgo.Dialer(line.Dialer(nil)))
	post(t, s, numbered(topicName, 1, 0, 10)...).ok()
	line.Freeze()
	first := make(chan promised, 1)
	go func() { first <- post(t, s, numbered(topicName, 1, 10, 1000)...) }()
	time.Sleep(200 * time.Millisecond)
	if _, bytes := s.Buffered(); bytes < 3000 || bytes > 4000 {
		t.Errorf("%d bytes are buffered, want the limit and a batch at most", bytes)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	o := &outcomes{all: make(chan struct{})}
	if err := s.Send(ctx, list(numbered(topicName, 1, 0, 10)), o); err == nil || o.missing != 0 {
		t.Errorf("a set that finds no room: %v, and %d outcomes are to come", err, o.missing)
	}
	line.Mend()
	(<-first).ok()
	holds(t, k.ListenAddrs(), topicName, 1, 1000)
}

// counting is a hook.
type counting struct {
	mu                      sync.Mutex
	records, bytes, batches int
}

func (c *counting) OnProduceBatchWritten(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.ProduceBatchMetrics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches++
	c.records += m.NumRecords
	c.bytes += m.UncompressedBytes
}

// TestHooksCount: the hooks of the client see what is written.
func TestHooksCount(t *testing.T) {
	k := testkit.FakeKafka(t, kfake.SeedTopics(1, topicName))
	var c counting
	s := start(t, k.ListenAddrs(), nil, kgo.WithHooks(&c))
	post(t, s, numbered(topicName, 1, 0, 10)...).ok()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.records != 10 || c.batches != 1 || c.bytes != 10*(7+3+1) {
		t.Errorf("%d records, %d bytes, %d batches", c.records, c.bytes, c.batches)
	}
}
