package fetch

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/metrics"
	"github.com/tidemark/tidemark/projections"
)

// behind is a partition whose log of messages has records that its consumer has not fetched.
type behind struct {
	*CatchUp
	t      *testing.T
	ctx    context.Context
	box    *inbox.Inbox
	owned  bool
	now    time.Time
	inputs [events.NumInputs]string
}

const behindRecords = 500

func newBehind(t *testing.T) *behind {
	brokers := testkit.FakeKafka(t).ListenAddrs()
	b := &behind{t: t, owned: true, now: time.Unix(1, 0), inputs: inputsOf(testkit.Topics(t, brokers, 1, 1))}
	from := map[string]map[int32]kgo.Offset{}
	for _, topic := range b.inputs {
		from[topic] = map[int32]kgo.Offset{0: kgo.NewOffset().At(0)}
	}
	e := &engine.Engine{Log: slog.New(slog.DiscardHandler)}
	e.Config.Topics.Inputs, e.Metrics = b.inputs, metrics.New(e.Config.Topics)
	e.Config.Behind, e.Config.FetchBytes, e.Config.QueueBytes, e.Config.Now = 20, 1000, 1<<20, func() time.Time { return b.now }
	cluster := &engine.Cluster{Partitions: 1}
	asker := testkit.Client(t, brokers)
	e.SetClient(asker)
	topics, err := e.Admin.ListTopics(t.Context(), b.inputs[:]...)
	if err != nil {
		t.Fatal(err)
	}
	for i, topic := range b.inputs {
		cluster.Topics[i] = projections.TopicIdentity{Name: topic, ID: topics[topic].ID}
	}
	e.Cluster.Store(cluster)
	for i := range behindRecords {
		r := &kgo.Record{Topic: b.inputs[events.Messages], Value: make([]byte, 100), Timestamp: time.UnixMilli(int64(i))}
		if err := asker.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	b.CatchUp = &CatchUp{Engine: e, Asker: asker,
		Consumer: testkit.Client(t, brokers, kgo.ConsumePartitions(from), kgo.ConsumeResetOffset(kgo.NoResetOffset())),
		Hold:     func(f func(func(*inbox.Inbox) bool)) { f(func(of *inbox.Inbox) bool { return b.owned && of == b.box }) }}
	ctx, cancel := context.WithCancel(t.Context())
	b.ctx = ctx
	b.box = inbox.New(0, 1<<20, new(atomic.Int64), e.Flow(0, b.Consumer))
	t.Cleanup(func() { cancel(); b.Wait() })
	return b
}

func (b *behind) paused() int {
	return len(b.Consumer.PauseFetchPartitions(nil)[b.inputs[events.Messages]])
}

func (b *behind) look() { b.Look(b.ctx, b.box, events.Messages, Seen{lag: behindRecords, epoch: -1}) }

// fetchesOwn reports whether the input is not the consumer's.
func (b *behind) fetchesOwn() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.routes[b.box]
	return r != nil && r.taken[events.Messages]
}

func (b *behind) until(what string, cond func() bool) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("not within a minute: %s", what)
		}
	}
}

// TestOnlyAnInboxThatExpectsRecordsIsFetchedFor: a fetch of an earlier worker of the partition comes
// while its next one has not begun. It is not known yet where that one begins.
func TestOnlyAnInboxThatExpectsRecordsIsFetchedFor(t *testing.T) {
	for what, prepare := range map[string]func(*inbox.Inbox){
		"not begun": func(*inbox.Inbox) {},
		"ended":     func(b *inbox.Inbox) { b.Expect(projections.Position{}); b.Close(false) },
	} {
		b := newBehind(t)
		prepare(b.box)
		b.look()
		if b.fetchesOwn() || b.paused() != 0 || len(b.routes) != 0 {
			t.Errorf("%s: the input is fetched", what)
		}
	}
}

// TestPausesHoldWhoeverFetches: an inbox that is full pauses its input while CatchUp fetches it. An
// input that is paused stays paused when the consumer gets it back.
func TestPausesHoldWhoeverFetches(t *testing.T) {
	b := newBehind(t)
	b.box.SetMax(1000)
	b.box.Expect(projections.Position{})
	b.look()
	b.until("a fetch fills the inbox", func() bool { return b.box.Queued() > 0 })
	time.Sleep(20 * time.Millisecond)
	if at := b.box.Expected()[events.Messages]; at == 0 || at == behindRecords || !b.fetchesOwn() || b.paused() != 1 {
		t.Fatalf("offset %d is next, %d inputs are paused at the consumer", at, b.paused())
	}
	b.until("all is fetched and consumed", func() bool {
		all := b.box.Expected()[events.Messages] == behindRecords
		b.box.Consumed([events.NumInputs]int64{events.Messages: b.box.Queued()})
		return all
	})
	b.box.PauseAll(true)
	b.until("the consumer has the input", func() bool { return !b.fetchesOwn() })
	if b.paused() != 1 {
		t.Error("the consumer fetches an input that is paused")
	}
	b.box.PauseAll(false)
	if b.paused() != 0 {
		t.Error("the input stays paused")
	}
	after := &kgo.Record{Topic: b.inputs[events.Messages], Value: []byte("next")}
	if err := b.Asker.ProduceSync(t.Context(), after).FirstErr(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got := b.Consumer.PollFetches(ctx).Records(); len(got) == 0 || got[0].Offset != behindRecords {
		t.Errorf("the consumer fetches %v, want offset %d first", got, behindRecords)
	}
}

// TestAPartitionThatIsGivenAwayStaysPaused: the consumer does not get back an input whose partition
// has another worker.
func TestAPartitionThatIsGivenAwayStaysPaused(t *testing.T) {
	b := newBehind(t)
	b.box.Expect(projections.Position{})
	b.owned = false
	b.look()
	b.until("all is fetched", func() bool { return b.box.Expected()[events.Messages] == behindRecords })
	b.until("it is over", func() bool { return !b.fetchesOwn() })
	if b.paused() != 1 {
		t.Error("the consumer fetches for the other worker")
	}
}

// TestPausesBetweenTakes: the consumer keeps an input for a while, longer after each failure.
func TestPausesBetweenTakes(t *testing.T) {
	b := newBehind(t)
	b.box.Expect(projections.Position{})
	b.look()
	b.until("all is fetched and the consumer has the input", func() bool {
		return b.box.Expected()[events.Messages] == behindRecords && !b.fetchesOwn()
	})
	b.look()
	if b.fetchesOwn() {
		t.Error("the input is fetched again at once")
	}
	r := b.routes[b.box]
	for _, x := range []struct {
		failed bool
		want   time.Duration
	}{{true, 10 * time.Second}, {true, 20 * time.Second}, {true, 40 * time.Second}, {false, 10 * time.Second}, {true, 10 * time.Second}} {
		if b.giveBack(ended{r, events.Messages, -1}, x.failed); r.until[events.Messages].Sub(b.now) != x.want {
			t.Errorf("failed: %v: a pause of %v, want %v", x.failed, r.until[events.Messages].Sub(b.now), x.want)
		}
	}
	for range 100 {
		r.failures[events.Messages]++
	}
	if b.giveBack(ended{r, events.Messages, -1}, true); r.until[events.Messages].Sub(b.now) != catchUpLongest {
		t.Errorf("a pause of %v, want %v", r.until[events.Messages].Sub(b.now), catchUpLongest)
	}
	b.now = b.now.Add(catchUpLongest)
	if b.look(); !b.fetchesOwn() {
		t.Error("the input is not fetched after the pause")
	}
}
