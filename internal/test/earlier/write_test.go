package earlier

import (
	"context"
	"flag"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

var keepAs = flag.String("write", "", "commit, or STORY-COMMIT: write testdata/COMMIT with the code as it is")

// TestWrite runs a node on each story. It compares the answers of its stores with those of every
// build that has folded the same story. With -write it runs one story and keeps everything that the
// node writes.
func TestWrite(t *testing.T) {
	if *keepAs != "" {
		write(t, fixture{filepath.Join("testdata", *keepAs)})
		return
	}
	for _, name := range []string{"new", "seeded-new", "said-new"} {
		t.Run(name, func(t *testing.T) { write(t, fixture{filepath.Join(t.TempDir(), name)}) })
	}
}

// write runs a node on the story of a fixture, and creates the fixture.
func write(t *testing.T, made fixture) {
	t.Helper()
	dir := made.dir
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	brokers := testkit.FakeKafka(t).ListenAddrs()
	rdb := redis.NewClient(&redis.Options{Addr: testkit.Miniredis(t).Addr()})
	defer rdb.Close()
	client := testkit.Client(t, brokers, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	adm := kadm.NewClient(client)
	if err := kafkaadmin.Create(t.Context(), adm, events.PrefixedTopicSpecs("", partitions, 1)); err != nil {
		t.Fatal(err)
	}
	inputs := produce(t, client, made.story())
	writeJSON(t, filepath.Join(dir, "inputs.json"), inputs)

	data := filepath.Join(t.TempDir(), "data")
	stop := run(t, brokers, rdb.Options().Addr, data)
	testkit.Await(t, "Redis holds all of it", func() bool { return filled(t, adm, rdb) })
	stop()
	writeJSON(t, filepath.Join(dir, "outputs.json"), consumed(t, brokers, outputs))
	writeJSON(t, filepath.Join(dir, "redis.json"), dump(t, rdb))
	writeZip(t, filepath.Join(dir, "stores.zip"), data)
	writeSnapshots(t, filepath.Join(dir, "snapshots.zip"), data)
	is := stored(t, data, made.story())
	writeJSON(t, filepath.Join(dir, "answers.json"), is)
	made.read(t, rdb)
	each(t, func(t *testing.T, f fixture) {
		if f.story() == made.story() {
			f.compare(t, "a node that folded the same events", is)
		}
	})
}

// produce produces the story and returns the records.
func produce(t *testing.T, client *kgo.Client, name string) []record {
	t.Helper()
	var list []record
	for _, r := range story(t, name) {
		value, err := r.Value()
		if err != nil {
			t.Fatal(err)
		}
		k := &kgo.Record{Topic: events.InputTopics[r.Input], Key: r.Key(), Value: value, Timestamp: time.UnixMilli(r.Timestamp)}
		if err := client.ProduceSync(t.Context(), k).FirstErr(); err != nil {
			t.Fatal(err)
		}
		list = append(list, record{k.Topic, k.Partition, k.Key, k.Value, r.Timestamp})
	}
	return list
}

// run runs a node until the returned function is called.
func run(t *testing.T, brokers []string, redisAddr, data string) (stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(t.Context(), node.Config{
		Roles: config.Roles{config.RoleProcessor, config.RoleCache, config.RoleQuery},
		Kafka: config.Kafka{Brokers: brokers, Options: testkit.FastClientOpts()}, Redis: config.Redis{URL: "redis://" + redisAddr},
		Group: "tidemark", DataDir: data, Settings: projections.DefaultSettings(), Listener: ln, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		ln.Close()
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	return func() {
		t.Helper()
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// filled reports whether all inputs are folded, and all their outputs are in Redis.
func filled(t *testing.T, adm *kadm.Client, rdb *redis.Client) bool {
	t.Helper()
	group, err := adm.FetchOffsets(t.Context(), "tidemark")
	if err != nil {
		return false // there is none yet
	}
	all := true
	for _, o := range ends(t, adm, events.InputTopics[:]...) {
		at, ok := group.Lookup(o.Topic, o.Partition)
		all = all && (ok && at.At == o.Offset || !ok && o.Offset == 0)
	}
	return all && cursorsAtEnd(t, adm, rdb)
}

// cursorsAtEnd reports whether Redis has all of the output topics.
func cursorsAtEnd(t *testing.T, adm *kadm.Client, rdb *redis.Client) bool {
	t.Helper()
	cursors := rdb.HGetAll(t.Context(), "tidemark:cursors").Val()
	all := rdb.Exists(t.Context(), "tidemark:epoch").Val() == 1
	for _, o := range ends(t, adm, events.TopicUnread, events.TopicChannels) {
		all = all && cursors[o.Topic+"/"+strconv.Itoa(int(o.Partition))] == strconv.FormatInt(o.Offset, 10)
	}
	return all
}

func ends(t *testing.T, adm *kadm.Client, topics ...string) []kadm.ListedOffset {
	t.Helper()
	listed, err := adm.ListEndOffsets(t.Context(), topics...)
	if err != nil {
		t.Fatal(err)
	}
	var list []kadm.ListedOffset
	listed.Each(func(o kadm.ListedOffset) { list = append(list, o) })
	return list
}

// consumed returns all records of topics.
func consumed(t *testing.T, brokers []string, topics []string) []record {
	t.Helper()
	client := testkit.Client(t, brokers, kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	left := int64(0)
	for _, o := range ends(t, kadm.NewClient(client), topics...) {
		left += o.Offset
	}
	var list []record
	for int64(len(list)) < left {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			list = append(list, record{r.Topic, r.Partition, r.Key, r.Value, r.Timestamp.UnixMilli()})
		})
	}
	return list
}

// dump returns the whole content of Redis.
func dump(t *testing.T, rdb *redis.Client) map[string]redisKey {
	t.Helper()
	ctx := t.Context()
	out := map[string]redisKey{}
	for _, key := range rdb.Keys(ctx, "*").Val() {
		k := redisKey{TTL: max(0, int64(rdb.TTL(ctx, key).Val()/time.Second))}
		if rdb.Type(ctx, key).Val() == "hash" {
			k.Hash = rdb.HGetAll(ctx, key).Val()
		} else {
			k.String = rdb.Get(ctx, key).Val()
		}
		out[key] = k
	}
	return out
}

// opened opens a copy of a store with the cluster and the topics in its identity, and default
// settings.
func opened(t *testing.T, dir string) *projections.Partition {
	t.Helper()
	x, err := projections.InspectHeader(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.Identity.Settings = projections.DefaultSettings()
	p, err := projections.Open(dir, x.Identity, projections.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stored returns the answers of the stores in a data directory.
func stored(t *testing.T, data, story string) []answers {
	t.Helper()
	numbers, err := processor.Stores(data)
	if err != nil {
		t.Fatal(err)
	}
	var out []answers
	for _, n := range numbers {
		p := opened(t, processor.StoreDir(data, n))
		out = append(out, answersOf(t, p, story))
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(out) != partitions {
		t.Fatalf("%d stores, want %d", len(out), partitions)
	}
	return out
}

// writeSnapshots takes a snapshot of each store in a data directory.
func writeSnapshots(t *testing.T, name, data string) {
	t.Helper()
	dir := t.TempDir()
	bucket, err := snapshot.OpenBucket("file://" + dir)
	if err != nil {
		t.Fatal(err)
	}
	repo := snapshot.New(bucket, snapshot.Options{})
	numbers, err := processor.Stores(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range numbers {
		stopped, err := projections.OpenStopped(processor.StoreDir(data, n), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := repo.Create(t.Context(), stopped, filepath.Join(data, "scratch"), snapshot.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := stopped.Close(); err != nil {
			t.Fatal(err)
		}
	}
	writeZip(t, name, dir)
}
