package travel

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// bench is a live processor of one partition. The timestamps of its records only grow, and its
// clock is that of the last record.
type bench struct {
	t       *testing.T
	config  processor.Config
	p       *processor.Processor
	client  *kgo.Client
	log     testkit.Output
	clock   atomic.Int64 // of the last record, Unix milliseconds
	written projections.Position
}

func newBench(t *testing.T, settings projections.Settings) *bench {
	t.Helper()
	b := &bench{t: t}
	b.clock.Store(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).UnixMilli())
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs()}
	set := env.Topics(t, 1)
	bucket, err := snapshot.OpenBucket("file://" + t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.config = processor.Config{
		Brokers: env.Brokers, ClientOptions: testkit.FastClientOpts(), Group: testkit.UniqueName(t, "g"), DataDir: t.TempDir(),
		Settings: settings, Breaker: processor.Breaker{Off: true}, CutEvery: 10 * time.Millisecond,
		Snapshots: snapshot.New(bucket, snapshot.Options{Now: b.now, Keep: 100}),
	}
	for i, name := range events.InputTopics {
		b.config.Topics.Inputs[i] = set.Name(name)
	}
	b.config.Topics.Unread, b.config.Topics.Channels = set.Name(events.TopicUnread), set.Name(events.TopicChannels)
	b.config.Topics.Receipts, b.config.Topics.DeadLetters = set.Name(events.TopicReceipts), set.Name(events.TopicDeadLetters)
	b.client = testkit.Client(t, env.Brokers)
	if b.p, err = processor.New(b.config); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	testkit.Await(t, "the partition is live", func() bool { _, err := b.p.Live(0); return err == nil })
	return b
}

func (b *bench) now() time.Time { return time.UnixMilli(b.clock.Load()).UTC() }

// guide returns a Guide with the processor's configuration and clock.
func (b *bench) guide(snapshots bool) *Guide {
	fold := b.config
	fold.DataDir = b.t.TempDir()
	c := Config{Fold: fold, Everywhere: true, Logger: slog.New(slog.NewTextHandler(&b.log, nil)), Now: b.now}
	if snapshots {
		c.Snapshots = b.config.Snapshots
	}
	return New(c)
}

// write writes records, each later than the one before, and waits until they are folded. It returns
// the moment of the last one.
func (b *bench) write(records []script.Record) Moment {
	b.t.Helper()
	var list []*kgo.Record
	for i := range records {
		value, err := records[i].Value()
		if err != nil {
			b.t.Fatal(err)
		}
		at := max(b.clock.Load()+1, records[i].Timestamp)
		b.clock.Store(at)
		list = append(list, &kgo.Record{Topic: b.config.Topics.Inputs[records[i].Input], Key: records[i].Key(), Value: value, Timestamp: time.UnixMilli(at)})
		b.written[records[i].Input]++
	}
	if err := b.client.ProduceSync(b.t.Context(), list...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
	live, err := b.p.Live(0)
	if err != nil {
		b.t.Fatal(err)
	}
	testkit.Await(b.t, "all is folded", func() bool {
		live.RLock()
		defer live.RUnlock()
		return live.Position() == b.written
	})
	m := Moment{Time: b.now()}
	b.clock.Add(10) // later records come several milliseconds later
	return m
}

func (b *bench) parse(story string) []script.Record {
	b.t.Helper()
	var p script.Parser
	records, err := p.Parse(strings.TrimSpace(story))
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range records {
		records[i].Timestamp = 0 // the clock of the bench
	}
	return records
}

// snapshot takes a snapshot once the store has everything that was written.
func (b *bench) snapshot() projections.Position {
	b.t.Helper()
	live, err := b.p.Live(0)
	if err != nil {
		b.t.Fatal(err)
	}
	testkit.Await(b.t, "all is stored", func() bool {
		live.RLock()
		defer live.RUnlock()
		return live.StoredPosition() == b.written
	})
	m, _, err := b.p.Snapshot(b.t.Context(), 0, snapshot.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return m.Position()
}

// trim deletes the records before a position.
func (b *bench) trim(v projections.Position) {
	b.t.Helper()
	to := kadm.Offsets{}
	for i, topic := range b.config.Topics.Inputs {
		to.AddOffset(topic, 0, v[i], -1)
	}
	done, err := kadm.NewClient(b.client).DeleteRecords(b.t.Context(), to)
	if err != nil || done.Error() != nil {
		b.t.Fatal(err, done.Error())
	}
}
