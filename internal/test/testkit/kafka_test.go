package testkit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// produce writes n records to partition 0, values from..from+n-1, and waits for their
// acknowledgement.
func produce(ctx context.Context, t *testing.T, cl *kgo.Client, topic string, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		record := &kgo.Record{Topic: topic, Partition: 0, Value: fmt.Append(nil, i)}
		if err := cl.ProduceSync(ctx, record).FirstErr(); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
}

// wantRecords reads partition 0 of topic from its start and wants the values 0..n-1 once each, in
// order.
func wantRecords(ctx context.Context, t *testing.T, brokers []string, topic string, n int) {
	t.Helper()
	cl := Client(t, brokers, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	next := 0
	for next < n {
		fetches := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("%d of %d records: %v", next, n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if got := string(r.Value); got != fmt.Sprint(next) {
				t.Fatalf("record at offset %d has value %s, want %d", r.Offset, got, next)
			}
			next++
		})
	}
}

func TestKafkaIsOneSharedBroker(t *testing.T) {
	a, b := Kafka(t), Kafka(t)
	if len(a.Brokers) == 0 || fmt.Sprint(a.Brokers) != fmt.Sprint(b.Brokers) {
		t.Fatalf("brokers %v and %v; want the same", a.Brokers, b.Brokers)
	}
}

// failing records a failure instead of failing the running test.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Helper() {}
func (f *failing) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	panic(f)
}

func TestASharedBrokerCannotBeKilled(t *testing.T) {
	kafka := Kafka(t)
	f := &failing{TB: t}
	kafka.t = f
	func() {
		defer func() { _ = recover() }()
		kafka.Kill(1)
	}()
	if f.message == "" {
		t.Error("the test that kills a shared broker is not failed")
	}
	produceTo := Topics(t, kafka.Brokers, 1, 1).Name(events.TopicReads)
	produce(testContext(t), t, Client(t, kafka.Brokers, kgo.RecordPartitioner(kgo.ManualPartitioner())), produceTo, 0, 1)
}

// Three brokers: what was acknowledged survives a move of the leader, the loss of the leader, and
// its pause.
func TestThreeBrokersLoseNothing(t *testing.T) {
	kafka := KafkaN(t, 3)
	ctx := testContext(t)
	topic := Topics(t, kafka.Brokers, 1, 3).Name(events.TopicMessages)
	cl := Client(t, kafka.Brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	produce(ctx, t, cl, topic, 0, 10)

	for node := 1; node <= 3; node++ {
		kafka.MoveLeader(topic, 0, node)
		if got := kafka.Leader(topic, 0); got != node {
			t.Fatalf("leader is node %d after a move to %d", got, node)
		}
	}
	produce(ctx, t, cl, topic, 10, 10)

	killed := kafka.Leader(topic, 0)
	kafka.Kill(killed)
	produce(ctx, t, cl, topic, 20, 10)
	if got := kafka.Leader(topic, 0); got == killed {
		t.Fatalf("the killed node %d leads", got)
	}
	kafka.Start(killed)
	kafka.MoveLeader(topic, 0, killed) // works once it has caught up

	kafka.Pause(killed)
	produce(ctx, t, cl, topic, 30, 10)
	kafka.Continue(killed)
	wantRecords(ctx, t, kafka.Brokers, topic, 40)

	stopped := kafka.Leader(topic, 0)
	kafka.Stop(stopped)
	produce(ctx, t, cl, topic, 40, 1)
	wantRecords(ctx, t, kafka.Brokers, topic, 41)
}
