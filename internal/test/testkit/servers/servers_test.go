package servers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

// testContext bounds the waits for a server.
func testContext(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real server")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestRedisLivesThroughPauseKillAndStart(t *testing.T) {
	ctx := testContext(t)
	r, err := StartRedis(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if !removed(r.proc.dir) {
			t.Errorf("%s is still there", r.proc.dir)
		}
	}()
	opts, err := redis.ParseURL(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	opts.MaxRetries, opts.ReadTimeout = -1, 300*time.Millisecond
	cl := redis.NewClient(opts)
	defer cl.Close()
	do := func(f func() error) {
		t.Helper()
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	do(cl.Set(ctx, "k", "v", 0).Err)

	do(r.Pause)
	if err := cl.Get(ctx, "k").Err(); err == nil {
		t.Error("a paused Redis answers")
	}
	do(r.Continue)
	do(cl.Get(ctx, "k").Err)

	do(r.Kill)
	if err := cl.Ping(ctx).Err(); err == nil {
		t.Error("a killed Redis answers")
	}
	do(func() error { return r.Start(ctx) })
	if err := cl.Get(ctx, "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("after a restart: %v; want an empty Redis", err)
	}
	if err := r.Start(ctx); err == nil {
		t.Error("a running Redis was started again")
	}
	do(r.Stop)
}

func TestKafkaKeepsItsRecordsOverAStopAndAKill(t *testing.T) {
	ctx := testContext(t)
	k, err := StartKafka(ctx, KafkaOptions{Properties: map[string]string{"auto.create.topics.enable": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	dir := k.nodes[0].dir
	defer func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if !removed(dir) {
			t.Errorf("%s is still there", dir)
		}
	}()
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.Brokers()...), kgo.AllowAutoTopicCreation(), kgo.ConsumeTopics("t"),
		kgo.MetadataMinAge(50*time.Millisecond), kgo.UnknownTopicRetries(-1)) // a starting broker has no topics yet
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, end := range []func(int) error{k.Stop, k.Kill} {
		if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: []byte("v")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := end(1); err != nil {
			t.Fatal(err)
		}
		if err := k.Start(ctx, 1); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; n < 2; {
		fetches := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("%d of 2 records: %v", n, err)
		}
		n += fetches.NumRecords()
	}
	if err := k.Kill(2); err == nil || !strings.Contains(err.Error(), "nodes 1 to 1") {
		t.Errorf("killing a node that is not there: %v", err)
	}
}

func TestKafkaThatCannotStartSaysWhy(t *testing.T) {
	ctx := testContext(t)
	_, err := StartKafka(ctx, KafkaOptions{Properties: map[string]string{"num.io.threads": "many"}})
	if err == nil || !strings.Contains(err.Error(), "num.io.threads") {
		t.Fatalf("StartKafka with a bad setting: %v", err)
	}
}
