package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/cache/internal/format"
	"github.com/tidemark/tidemark/cache/internal/packed"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// t0 is 2026-01-02T03:04:05.678Z.
const t0 = 1767323045678

// stampOf returns a stamp of fold version 1 without deliveries.
func stampOf(m, r int64) events.Stamp { return events.Stamp{FoldVersion: 1, M: m, R: r} }

// small returns a delta of a member of a small channel, whose counts equal its stamp.
func small(user, channel string, m, r int64) *events.UnreadDelta {
	return &events.UnreadDelta{
		UserID: []byte(user), ChannelID: []byte(channel), Member: true, Unread: uint32(m), Mentions: 1, ReadEpoch: 1,
		FirstUnread: events.Ref{MessageID: []byte("m1"), Seq: 1},
		Latest:      events.Head{MessageID: []byte("m9"), Seq: uint32(m), Pos: uint32(m), At: t0 + m, SenderID: []byte("s"), Preview: []byte("hi")},
		Stamp:       stampOf(m, r),
	}
}

// inThread turns d into a delta of a thread.
func inThread(d *events.UnreadDelta, thread string) *events.UnreadDelta {
	d.ThreadID, d.TouchedAt = []byte(thread), d.Latest.At
	return d
}

// reading sets the pointer of d's user.
func reading(d *events.UnreadDelta, id string, seq uint32, at int64) *events.UnreadDelta {
	d.LastRead, d.LastReadAt = events.Ref{MessageID: []byte(id), Seq: seq}, at
	return d
}

// left returns a delta after its user has left.
func left(user, channel string, m, r int64) *events.UnreadDelta {
	return &events.UnreadDelta{UserID: []byte(user), ChannelID: []byte(channel), ReadEpoch: 1, Stamp: stampOf(m, r)}
}

func unreadRecord(d *events.UnreadDelta) *kgo.Record {
	return &kgo.Record{
		Topic: events.TopicUnread,
		Key:   events.AppendUnreadKey(nil, d.UserID, d.ChannelID, d.ThreadID),
		Value: events.AppendUnreadDelta(nil, d),
	}
}

func channelRecord(c *events.ChannelRecord) *kgo.Record {
	return &kgo.Record{Topic: events.TopicChannels, Key: c.ChannelID, Value: events.AppendChannelRecord(nil, c)}
}

// keyFormat is the beginning of an epoch with the default format.
const keyFormat = "4/"

// packedRedises has the addresses of the Redis servers that are filled with packed values.
var packedRedises sync.Map

// formatOf returns the format of a test's Redis.
func formatOf(rdb *redis.Client) (f format.Format) {
	_, f.Packed = packedRedises.Load(rdb.Options().Addr)
	return f
}

// pack marks a Redis as filled with packed values, until the test ends.
func pack(t testing.TB, rdb *redis.Client) *redis.Client {
	addr := rdb.Options().Addr
	packedRedises.Store(addr, true)
	t.Cleanup(func() { packedRedises.Delete(addr) })
	return rdb
}

// eachValues runs body with a Redis that is filled with JSON values, and with one with packed ones.
func eachValues(t *testing.T, body func(t *testing.T, env testkit.Env, rdb *redis.Client)) {
	for _, values := range []string{format.JSON, format.Packed} {
		t.Run(values, func(t *testing.T) {
			testkit.Both(t, func(t *testing.T, env testkit.Env) {
				rdb := redisClient(t, env.RedisURL)
				if values == format.Packed {
					pack(t, rdb)
				}
				body(t, env, rdb)
			})
		})
	}
}

// eachFormat runs body against the Redises of redises, and against a real one that is filled with
// packed values.
func eachFormat(t *testing.T, body func(t *testing.T, rdb *redis.Client)) {
	redises(t, body)
	t.Run("packed", func(t *testing.T) {
		body(t, pack(t, redisClient(t, testkit.Redis(t).URL)))
	})
}

// redises runs body against the embedded Redis and the real one.
func redises(t *testing.T, body func(t *testing.T, rdb *redis.Client)) {
	t.Run("embedded", func(t *testing.T) { body(t, redisClient(t, "redis://"+testkit.Miniredis(t).Addr())) })
	t.Run("real", func(t *testing.T) { body(t, redisClient(t, testkit.Redis(t).URL)) })
}

func redisClient(t testing.TB, url string, change ...func(*redis.Options)) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.ContextTimeoutEnabled = true
	o.MaxRetries = -1
	o.ReadTimeout = 10 * time.Second
	for _, f := range change {
		f(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// rig is a writer that owns one partition.
type rig struct {
	*writer
	part *part
	cold bool // forgets the values in Redis before each batch
}

// own makes a rig with short pauses the owner of the partition that all rigs write to.
func own(t testing.TB, rdb *redis.Client) *rig {
	t.Helper()
	cfg, err := Config{Brokers: []string{"none"}, Redis: rdb, Values: formatOf(rdb).Values(), RetryMin: time.Millisecond, RetryMax: 20 * time.Millisecond}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{writer: newWriter(&cfg, newMetrics(nil)), part: &part{partition: partition{Topic: "t", Number: 0}, token: rand.Text(), table: newTable(1 << 20)}}
	r.claim(t, rdb)
	return r
}

func (r *rig) claim(t testing.TB, rdb *redis.Client) {
	t.Helper()
	if err := rdb.HSet(t.Context(), ownersKey, r.part.String(), r.part.token).Err(); err != nil {
		t.Fatal(err)
	}
}

// send writes a batch and returns how many values were applied.
func (r *rig) send(t testing.TB, b *batch) int {
	t.Helper()
	if b.tally.bad > 0 {
		t.Fatal(b.lastBad)
	}
	if r.cold {
		r.part.table = newTable(1 << 20)
	}
	if err := r.write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return b.tally.applied
}

// join puts records into a batch.
func (r *rig) join(b *batch, records ...*kgo.Record) *batch {
	b.reset(len(records))
	b.format = r.format
	for _, rec := range records {
		if rec.Topic == events.TopicUnread {
			b.addUnread(rec, r.part)
		} else {
			b.addChannel(rec, r.part)
		}
	}
	return b
}

// apply writes deltas as one batch, all of them to be published, and returns how many were applied.
func (r *rig) apply(t testing.TB, deltas ...*events.UnreadDelta) int {
	t.Helper()
	var records []*kgo.Record
	for _, d := range deltas {
		records = append(records, unreadRecord(d))
	}
	return r.send(t, r.join(new(batch), records...))
}

// applyChannels writes channel records as one batch and returns how many were applied.
func (r *rig) applyChannels(t testing.TB, list ...*events.ChannelRecord) int {
	t.Helper()
	var records []*kgo.Record
	for _, c := range list {
		records = append(records, channelRecord(c))
	}
	return r.send(t, r.join(new(batch), records...))
}

// warmAndCold runs body with known values of Redis, and with a read before each write.
func warmAndCold(t *testing.T, body func(t *testing.T, r *rig, rdb *redis.Client)) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		for _, cold := range []bool{false, true} {
			t.Run(map[bool]string{false: "warm", true: "cold"}[cold], func(t *testing.T) {
				rdb.FlushAll(t.Context())
				r := own(t, rdb)
				r.cold = cold
				body(t, r, rdb)
			})
		}
	})
}

// dump returns everything in Redis except the cache's own bookkeeping: the hashes of DESIGN §8 as
// text. Packed values are shown as JSON and as the hash of a channel.
func dump(t testing.TB, rdb redis.UniversalClient) map[string]string {
	t.Helper()
	ctx := t.Context()
	keys, err := rdb.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, k := range keys {
		if !slices.ContainsFunc([]string{"inbox:", "inbox-threads:", "read-pointer:", "thread-read:", "channel-latest:"},
			func(prefix string) bool { return strings.HasPrefix(k, prefix) }) {
			continue
		}
		for f, v := range fieldsOf(t, rdb, k) {
			out[k+" "+f] = v
		}
	}
	return out
}

// fieldsOf returns the hash of a key in the form of JSON values.
func fieldsOf(t testing.TB, rdb redis.UniversalClient, key string) map[string]string {
	t.Helper()
	if client, ok := rdb.(*redis.Client); !ok || !formatOf(client).Packed {
		h, err := rdb.HGetAll(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if strings.HasPrefix(key, "channel-latest:") {
		value, err := rdb.Get(t.Context(), key).Bytes()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		var r events.ChannelRecord
		if err = errors.Join(err, packed.DecodeChannel(value, &r)); err != nil {
			t.Fatal(err)
		}
		var args commands
		args.Command("fields")
		entry.AppendHash(&args.Commands, &r)
		h := map[string]string{}
		for list := args.List()[0][1:]; len(list) > 0; list = list[2:] {
			h[*list[0].(*string)] = *list[1].(*string)
		}
		return h
	}
	h, err := rdb.HGetAll(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(key, "inbox") {
		return h
	}
	for f, value := range h {
		var d events.UnreadDelta
		if err := packed.DecodeValue([]byte(value), &d); err != nil {
			t.Fatalf("%s, %s: %v", key, f, err)
		}
		if strings.HasPrefix(key, "inbox-threads:") {
			d.ThreadID = []byte("any")
		}
		h[f] = string(entry.AppendValue(nil, &d))
	}
	return h
}

// eventually waits until ok returns true, and calls it every few milliseconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute) // machines may be slow; no test measures it
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 2 minutes in vain: %s", what)
		}
		time.Sleep(3 * time.Millisecond)
	}
}

// member is a running Cache.
type member struct {
	*Cache
	reg  *prometheus.Registry
	stop func() // waits for Run to return; may be called more than once
}

// start runs a Cache with short intervals until the test ends or it is stopped.
func start(t testing.TB, brokers []string, topics testkit.TopicSet, rdb *redis.Client, change ...func(*Config)) *member {
	t.Helper()
	m := launch(t, brokers, topics, rdb, change...)
	t.Cleanup(m.stop)
	return m
}

// launch is start for a member that the caller stops.
func launch(t testing.TB, brokers []string, topics testkit.TopicSet, rdb *redis.Client, change ...func(*Config)) *member {
	t.Helper()
	cfg := Config{
		Brokers: brokers, ClientOptions: testkit.FastClientOpts(), Group: topics.Prefix + "cache",
		Unread: topics.Name(events.TopicUnread), Channels: topics.Name(events.TopicChannels), Redis: rdb,
		CheckEvery: 20 * time.Millisecond, CommitEvery: 20 * time.Millisecond,
		RetryMin: 2 * time.Millisecond, RetryMax: 50 * time.Millisecond, Logger: discard(), Values: formatOf(rdb).Values(),
	}
	reg := prometheus.NewRegistry()
	cfg.Registerer = reg
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(2 * time.Minute):
			t.Error("Run did not return after its context ended")
		}
	}
	return &member{Cache: c, reg: reg, stop: stop}
}

// ready waits until the member reports that it is ready.
func (m *member) ready(t testing.TB) {
	t.Helper()
	eventually(t, "cache is ready", func() bool { ok, _ := m.Ready(); return ok })
}

// counted returns the value of a result of tidemark_cache_deltas_total.
func (m *member) counted(result string) int {
	return int(counterOf(m.metrics.records.WithLabelValues(result)))
}

func counterOf(c prometheus.Counter) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}

// produce writes records to the topics of a set, each in the partition of its user or channel, and
// waits for the acks.
func produce(t testing.TB, cl *kgo.Client, topics testkit.TopicSet, partitions int32, records ...*kgo.Record) {
	t.Helper()
	for _, r := range records {
		by := r.Key
		if r.Topic == events.TopicUnread {
			by, _, _, _ = events.SplitUnreadKey(r.Key)
		}
		r.Partition = events.PartitionOf(by, partitions)
		r.Topic = topics.Name(r.Topic)
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func producer(t testing.TB, brokers []string) *kgo.Client {
	return testkit.Client(t, brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
}
