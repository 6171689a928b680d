package rebuild

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// buffered counts the bytes of the records that a client has not had acknowledged yet.
type buffered struct {
	mu        sync.Mutex
	now, most int
	records   int
}

// OnProduceRecordBuffered implements kgo.HookProduceRecordBuffered.
func (b *buffered) OnProduceRecordBuffered(r *kgo.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records++
	b.now += len(r.Key) + len(r.Value)
	b.most = max(b.most, b.now)
}

// OnProduceRecordUnbuffered implements kgo.HookProduceRecordUnbuffered.
func (b *buffered) OnProduceRecordUnbuffered(r *kgo.Record, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now -= len(r.Key) + len(r.Value)
}

// TestReshardHoldsBytesNotRecords: what waits for slow brokers is bounded by its bytes, however
// long the records are.
func TestReshardHoldsBytesNotRecords(t *testing.T) {
	brokers := testkit.FakeKafka(t)
	topics := testkit.Topics(t, brokers.ListenAddrs(), 1, 1)
	var from, to processor.Topics
	for i, name := range events.InputTopics {
		from.Inputs[i], to.Inputs[i] = topics.Name(name), topics.Name("v2."+name)
	}
	to.Unread, to.Channels = topics.Name("v2.unread"), topics.Name("v2.channels")
	to.Receipts, to.DeadLetters = topics.Name("v2.receipts"), topics.Name("v2.dead-letters")
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const n, long = 40, 100 << 10
	preview := strings.Repeat("x", long)
	for i := range n {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: from.Inputs[events.Messages], Key: []byte("general"),
			Value: fmt.Appendf(nil, `{"channel_id":"general","message_posted":{"message_id":"m%d","sender_id":"ann","preview":"%s"}}`, i, preview)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	brokers.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		brokers.KeepControl()
		brokers.SleepControl(func() { time.Sleep(20 * time.Millisecond) }) // slow: without a bound all of it would wait
		return nil, nil, false
	})
	var b buffered
	res, err := Reshard(t.Context(), ReshardConfig{Brokers: brokers.ListenAddrs(), ClientOptions: []kgo.Opt{kgo.WithHooks(&b)}, From: from, To: to,
		Partitions: 3, Replication: 1, Dir: filepath.Join(t.TempDir(), "reshard"), Settings: projections.DefaultSettings(), buffered: 5 * long})
	if err != nil || res.Copied != n || res.Total != 0 || res.Channels != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if b.records != n || b.most > (5+1)*(long+1<<10) { // and the one that waits for room
		t.Errorf("of %d records of %d bytes %d bytes waited at a time", b.records, long, b.most)
	}
}
