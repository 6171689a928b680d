package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// site is brokers, a Redis, and a node's data directory.
type site struct {
	t                   *testing.T
	broker, redis, data string
	output              fmt.Stringer // what the last node has logged
}

func newSite(t *testing.T, env testkit.Env, partitions int) *site {
	t.Helper()
	s := &site{t: t, broker: env.Brokers[0], redis: env.RedisURL, data: filepath.Join(t.TempDir(), "data")}
	ok(t, "", "topics", "create", "--brokers", s.broker, "--partitions", fmt.Sprint(partitions), "--replication-factor", "1")
	return s
}

func embedded(t *testing.T) testkit.Env {
	t.Helper()
	return testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
}

// run runs a node until the returned function is called.
func (s *site) run(args ...string) (url string, stop func()) {
	s.t.Helper()
	_, errout, cancel := background(s.t, append([]string{"run", "--brokers", s.broker, "--redis", s.redis, "--data-dir", s.data,
		"--listen", "127.0.0.1:0"}, args...)...)
	s.output = errout
	errout.Await(s.t, "listen=")
	m := listenAt.FindStringSubmatch(errout.String())
	url = "http://" + m[1]
	return url, func() {
		s.t.Helper()
		if code := cancel(); code != exitDone {
			s.t.Fatalf("run: exit %d\n%s", code, errout)
		}
	}
}

// drained waits until a cache has read all that stands in its topics.
func (s *site) drained(rdb *redis.Client) {
	s.t.Helper()
	adm := kadm.NewClient(testkit.Client(s.t, []string{s.broker}))
	testkit.Await(s.t, "a cache has read everything", func() bool {
		ends, err := adm.ListEndOffsets(s.t.Context(), events.TopicUnread, events.TopicChannels)
		if err != nil || ends.Error() != nil {
			return false
		}
		cursors, err := cache.NewReader(rdb).Cursors(s.t.Context())
		behind := false
		ends.Each(func(o kadm.ListedOffset) {
			behind = behind || cursors[fmt.Sprintf("%s/%d", o.Topic, o.Partition)] < o.Offset
		})
		return err == nil && !behind
	})
}

// folded lets a node fold and cache what input says, and stops it.
func (s *site) folded(input string) {
	s.t.Helper()
	s.emits(input, s.cached)
}

// emits lets a node fold what input says, and stops it after await.
func (s *site) emits(input string, await func()) {
	s.t.Helper()
	url, stop := s.run()
	awaitReady(s.t, url)
	tokens := lines(ok(s.t, input, "emit", "--brokers", s.broker))
	last := map[string]string{} // of each topic and partition, in the order in which they were written
	for _, token := range tokens {
		last[token[:strings.LastIndexByte(token, '/')]] = token
	}
	ok(s.t, "", "query", "channel", "general", "--addr", url, "--after", strings.Join(slices.Collect(maps.Values(last)), ","))
	await()
	stop()
}

// rdb is a client of the Redis.
func (s *site) rdb() *redis.Client {
	s.t.Helper()
	o, err := redis.ParseURL(s.redis)
	if err != nil {
		s.t.Fatal(err)
	}
	return redis.NewClient(o)
}

// cached waits until Redis holds what story says.
func (s *site) cached() {
	s.t.Helper()
	rdb, ctx := s.rdb(), s.t.Context()
	defer rdb.Close()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) { // nothing is judged by it
		ann, bob := rdb.HGet(ctx, "inbox:ann", "general").Val(), rdb.HGet(ctx, "inbox:bob", "general").Val()
		if strings.Contains(ann, `"last_read_seq":1,`) && strings.Contains(ann, `"latest_seq":3`) && strings.Contains(bob, `"latest_seq":3`) &&
			rdb.HGet(ctx, "channel-latest:general", "message_seq").Val() == "3" && rdb.Exists(ctx, "tidemark:epoch", "read-pointer:ann:general").Val() == 2 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("Redis never holds what was folded: ann %q, bob %q, channel %v, cursors %v, epoch %q; the node said\n%s", ann, bob,
				rdb.HGetAll(ctx, "channel-latest:general").Val(), rdb.HGetAll(ctx, "tidemark:cursors").Val(), rdb.Get(ctx, "tidemark:epoch").Val(), s.output)
		}
	}
}

// own runs a test on the embedded brokers and on an Apache Kafka that no other test uses: verbs
// know the topics by the names of production.
func own(t *testing.T, body func(t *testing.T, env testkit.Env)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { body(t, embedded(t)) })
	t.Run("real", func(t *testing.T) {
		body(t, testkit.Env{Brokers: testkit.KafkaN(t, 1).Brokers, RedisURL: testkit.Redis(t).URL, Real: true})
	})
}

func (s *site) verb(verb string, args ...string) result {
	s.t.Helper()
	return tidemark(s.t, "", append([]string{verb, "--brokers", s.broker, "--data-dir", s.data}, args...)...)
}

// tamper folds a read into a stopped node's store that no topic has, in the place of the last
// record of chat.reads.
func (s *site) tamper(user string, seq uint32) {
	s.t.Helper()
	dir := s.store()
	x, err := projections.InspectHeader(dir, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := projections.Open(dir, x.Identity, projections.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	e := events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("general"), UserID: []byte(user), OccurredAt: time.Now().UnixMilli(),
		Target: events.TargetSeq, Seq: seq}
	p.FoldRead(&e, x.Position[events.Reads]-1, e.OccurredAt)
	stored(s.t, p)
}

// stored writes what was folded to the store, and closes it.
func stored(t *testing.T, p *projections.Partition) {
	t.Helper()
	var d projections.Deltas
	p.Drain(&d, true)
	c, err := p.Cut()
	if err == nil {
		err = c.Apply()
	}
	if cerr := p.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
}

// store is that of the partition of channel general.
func (s *site) store() string {
	stores, err := processor.Stores(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	return processor.StoreDir(s.data, events.PartitionOf([]byte("general"), int32(len(stores))))
}

var story = strings.Join([]string{joinLine, postLine("m1", "secret text"), postLine("m2", "more"), postLine("m3", "most"), readLine}, "\n")

// same hides what differs from run to run in the output of a verb: times, rates, directories.
func (s *site) same(out string) string {
	out = strings.ReplaceAll(out, s.data, "DATA")
	out = regexp.MustCompile(`replaced-\d{8}T\d{6}Z`).ReplaceAllString(out, "replaced-TIME")
	out = regexp.MustCompile(`in [0-9.]+m?s \(\d+/s\)`).ReplaceAllString(out, "in TIME (RATE/s)")
	out = regexp.MustCompile(`[0-9a-f]{32}`).ReplaceAllString(out, "DIGEST")
	return regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`).ReplaceAllString(out, "AT")
}
