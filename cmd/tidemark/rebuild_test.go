package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/rebuild"
	"github.com/tidemark/tidemark/internal/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// site is brokers, a Redis, and a node's data directory.
type site struct {
	t                   *testing.T
	broker, redis, data string
	said                fmt.Stringer // what the last node has logged
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
	s.said = errout
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
	ok(s.t, "", "query", "channel", "general", "--addr", url, "--after", strings.Join(tokens, ","))
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
				rdb.HGetAll(ctx, "channel-latest:general").Val(), rdb.HGetAll(ctx, "tidemark:cursors").Val(), rdb.Get(ctx, "tidemark:epoch").Val(), s.said)
		}
	}
}

// own runs a test on the embedded brokers and on an Apache Kafka that no other test uses: verbs know the topics by the
// names of production.
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

// tamper folds a read into a stopped node's store that no topic has, in the place of the last record of chat.reads.
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
	held, err := processor.Stores(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	return processor.StoreDir(s.data, events.PartitionOf([]byte("general"), int32(len(held))))
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

func TestReplayAndSwap(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	s.folded(story)
	before, err := projections.Inspect(s.store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.tamper("ann", 3)
	r := s.verb("replay")
	if r.code != exitDone {
		t.Fatalf("%+v", r)
	}
	golden(t, "../verbs/replay", s.same(r.out))
	if !strings.Contains(r.errout, "replay: 100.0%, 5 of 5 records") {
		t.Errorf("progress: %q", r.errout)
	}
	if r := s.verb("replay"); r.code != exitFailed || !strings.Contains(r.errout, "is there already") {
		t.Errorf("again, into what is there: %+v", r)
	}
	url, stop := s.run()
	awaitReady(t, url) // so that its stores are in use
	if r := s.verb("replay", "--resume", "--swap"); r.code != exitFailed || !strings.Contains(r.errout, "is in use: stop the node first") {
		t.Errorf("while the node runs: %+v", r)
	}
	if out := ok(t, "", "query", "unread", "ann", "general", "--addr", url); !strings.Contains(out, "last read       m3") {
		t.Errorf("the node has another state than was planted:\n%s", out)
	}
	stop()
	r = s.verb("replay", "--resume", "--swap")
	if r.code != exitDone {
		t.Fatalf("%+v", r)
	}
	golden(t, "../verbs/replay-swap", s.same(r.out))
	after, err := projections.Inspect(s.store(), nil)
	if err != nil || after.Digest != before.Digest || after.Position != before.Position {
		t.Errorf("swapped in: %+v, %v; want what the node had, %+v", after, err, before)
	}
	url, stop = s.run()
	awaitReady(t, url)
	stop()
}

// TestReplayLeavesToTheNodeWhatNobodyWasTold: events come in while no node runs, stores are rebuilt and swapped in, and the node
// that starts then tells what these events change. A store that held them already would never be told to anybody.
func TestReplayLeavesToTheNodeWhatNobodyWasTold(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	s.folded(story)
	at, err := projections.InspectHeader(s.store(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ok(t, postLine("m4", "said while no node ran"), "emit", "--brokers", s.broker)
	if r := s.verb("replay", "--swap"); r.code != exitDone {
		t.Fatalf("%+v", r)
	}
	if now, err := projections.InspectHeader(s.store(), nil); err != nil || now.Position != at.Position {
		t.Fatalf("the store that was swapped in is at %v (%v), the group has published up to %v", now.Position, err, at.Position)
	}

	// A store that was folded to the end of the logs is not swapped in, nor one of a group that has published nothing.
	beyond := filepath.Join(t.TempDir(), "beyond")
	if r := s.verb("replay", "--group", "nobody", "--into", beyond); r.code != exitDone {
		t.Fatalf("%+v", r)
	}
	if r := s.verb("replay", "--resume", "--swap", "--into", beyond); r.code != exitFailed || !strings.Contains(r.errout, "nobody would be told") {
		t.Errorf("a store that is further than what was published: %+v", r)
	}
	if r := s.verb("replay", "--group", "nobody", "--swap", "--into", filepath.Join(t.TempDir(), "x")); r.code != exitFailed ||
		!strings.Contains(r.errout, "has published nothing of it") {
		t.Errorf("of a group that has published nothing: %+v", r)
	}

	url, stop := s.run()
	defer stop()
	awaitReady(t, url)
	rdb := s.rdb()
	defer rdb.Close()
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(rdb.HGet(t.Context(), "inbox:ann", "general").Val(), `"latest_seq":4`); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) { // nothing is judged by it
			t.Fatalf("Redis is never told of m4: %s", rdb.HGet(t.Context(), "inbox:ann", "general").Val())
		}
	}
}

func TestReplayFailsInWords(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	if r := s.verb("replay", "--into", s.data); r.code != exitUsage || !strings.Contains(r.errout, "same directory") {
		t.Errorf("into the node's own: %+v", r)
	}
	if r := s.verb("replay", "--partition", "9"); r.code != exitFailed || !strings.Contains(r.errout, "there is no partition 9") {
		t.Errorf("no such partition: %+v", r)
	}
	if r := s.verb("verify", "--no-redis"); r.code != exitFailed || r.errout == "" {
		t.Errorf("verify of nothing: %+v", r)
	}
}

func TestVerify(t *testing.T) {
	own(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env, 2)
		s.folded(story)
		r := s.verb("verify", "--redis", s.redis)
		if r.code != exitDone {
			t.Fatalf("%+v", r)
		}
		golden(t, "../verbs/verify-equal", s.same(r.out))

		s.tamper("ann", 3)
		o, err := redis.ParseURL(env.RedisURL)
		if err != nil {
			t.Fatal(err)
		}
		rdb := redis.NewClient(o)
		defer rdb.Close()
		ctx := t.Context()
		value, err := rdb.HGet(ctx, "inbox:bob", "general").Result()
		if err != nil {
			t.Fatal(err)
		}
		old := regexp.MustCompile(`"stamp":"[^"]*"`).ReplaceAllString(value, `"stamp":"1.0.0.0"`) // one that the store includes
		if err := rdb.HSet(ctx, "inbox:bob", "general", strings.Replace(value, `"unread":0`, `"unread":7`, 1), "nowhere", old).Err(); err != nil {
			t.Fatal(err)
		}
		if err := rdb.Del(ctx, "channel-latest:general").Err(); err != nil {
			t.Fatal(err)
		}
		files := listed(t, s.data)
		r = s.verb("verify", "--redis", s.redis)
		if r.code != exitDifferences {
			t.Fatalf("%+v", r)
		}
		golden(t, "../verbs/verify-different", s.same(r.out))
		if strings.Contains(r.out, "secret") {
			t.Errorf("the text of a message is shown:\n%s", r.out)
		}
		if now := listed(t, s.data); !slices.Equal(now, files) {
			t.Errorf("looking changed the data directory: %q, before %q", now, files)
		}
		var res rebuild.Result
		r = s.verb("verify", "--redis", s.redis, "--json", "--limit", "1")
		if err := json.Unmarshal([]byte(r.out), &res); err != nil || len(res.Differences) != 1 || res.Total < 5 {
			t.Errorf("--json: %+v, %v", r, err)
		}

		r = s.verb("verify", "--redis", s.redis, "--repair")
		if r.code != exitDifferences || !strings.Contains(r.out, "the rebuilt store is in place") || !strings.Contains(r.out, "Redis: what was wrong is taken out") {
			t.Fatalf("--repair: %+v", r)
		}
		url, stop := s.run()
		awaitReady(t, url) // the cache may have filled Redis before the stores are open, and so in use
		s.cached()
		if r := s.verb("verify", "--redis", s.redis); r.code != exitFailed || !strings.Contains(r.errout, "is in use: stop the node first, or name it with --node") {
			t.Errorf("while the node runs: %+v", r)
		}
		stop()
		if r := s.verb("verify", "--redis", s.redis); r.code != exitDone {
			t.Errorf("after the repair: %+v", r)
		}
	})
}

// A store that stayed behind when its partition moved says nothing of what others folded since.
func TestVerifyOfAnEarlierStore(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	url, stop := s.run()
	awaitReady(t, url)
	stop()
	earlier := s.data
	s.data = filepath.Join(t.TempDir(), "data")
	s.folded(story)
	s.data = earlier
	r := s.verb("verify", "--redis", s.redis, "--json")
	var res rebuild.Result
	if err := json.Unmarshal([]byte(r.out), &res); err != nil || r.code != exitDone || res.Total != 0 || res.Redis.Newer != 3 {
		t.Errorf("two inboxes and a channel are newer than the store: %+v", r)
	}
}

// TestVerifyOfAStoreThatIsBehind: a partition has moved away, and its old store is compared while Redis goes on: what was taken
// out of Redis, or changed without a new message, is newer too, for as long as the store is kept: also after a day, when Redis
// does not know any more when it was taken out. What is not there and should be is told all the same.
func TestVerifyOfAStoreThatIsBehind(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	rdb := s.rdb()
	defer rdb.Close()
	holds := func(what string, is func(ctx context.Context) bool) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); !is(t.Context()); time.Sleep(5 * time.Millisecond) { // nothing is judged by it
			if time.Now().After(deadline) {
				t.Fatalf("Redis never holds %s; the node said\n%s", what, s.said)
			}
		}
	}
	thread := cache.ThreadField("talk", "t1")
	s.emits(story+"\n"+`{"topic":"chat.messages","event":{"channel_id":"talk","members_joined":{"user_ids":["ann","bob"]}}}
{"topic":"chat.messages","event":{"channel_id":"talk","message_posted":{"message_id":"t1","sender_id":"ann"}}}
{"topic":"chat.messages","event":{"channel_id":"talk","message_posted":{"message_id":"t2","sender_id":"bob","thread_id":"t1"}}}
{"topic":"chat.messages","event":{"channel_id":"side","members_joined":{"user_ids":["ann","dan"]}}}
{"topic":"chat.messages","event":{"channel_id":"side","message_posted":{"message_id":"s1","sender_id":"dan"}}}`, func() {
		s.cached()
		holds("what the store has", func(ctx context.Context) bool {
			return rdb.Exists(ctx, "channel-latest:side", "channel-latest:talk").Val() == 2 && rdb.HExists(ctx, "inbox:ann", "side").Val() &&
				rdb.HExists(ctx, "inbox-threads:ann", thread).Val() && rdb.HExists(ctx, "inbox-threads:bob", thread).Val()
		})
	})
	behind := s.data
	verified := func(newer int) {
		t.Helper()
		r := s.verb("verify", "--redis", s.redis, "--json")
		var res rebuild.Result
		if err := json.Unmarshal([]byte(r.out), &res); err != nil || r.code != exitDone || res.Total != 0 || res.Redis.Newer != newer {
			t.Errorf("want %d newer and nothing else: %+v", newer, r)
		}
	}
	verified(0)
	s.data = filepath.Join(t.TempDir(), "data")
	s.emits(`{"topic":"chat.messages","event":{"channel_id":"general","members_left":{"user_ids":["bob"]}}}
{"topic":"chat.messages","event":{"channel_id":"general","message_deleted":{"message_id":"m3"}}}
{"topic":"chat.reads","event":{"channel_id":"talk","user_id":"ann","thread_unfollowed":{"thread_id":"t1"}}}
{"topic":"chat.messages","event":{"channel_id":"side","channel_deleted":{}}}`, func() {
		holds("what came later", func(ctx context.Context) bool {
			return !rdb.HExists(ctx, "inbox:bob", "general").Val() && rdb.HGet(ctx, "channel-latest:general", "latest_id").Val() == "m2" &&
				!rdb.HExists(ctx, "inbox-threads:ann", thread).Val() && rdb.Exists(ctx, "channel-latest:side").Val() == 0 &&
				!rdb.HExists(ctx, "inbox:ann", "side").Val() && !rdb.HExists(ctx, "inbox:dan", "side").Val()
		})
	})
	s.data = behind
	verified(7) // general, ann and bob in it; ann's thread; side, ann and dan in it
	if n, err := rdb.Del(t.Context(), "channel-stamp:side", "inbox-gone:ann", "inbox-gone:bob", "inbox-gone:dan").Result(); err != nil || n != 4 {
		t.Fatalf("of 4 keys that a day takes %d were there: %v", n, err)
	}
	verified(7)
	if n, err := rdb.HDel(t.Context(), "inbox:ann", "talk").Result(); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	r := s.verb("verify", "--redis", s.redis, "--json")
	var res rebuild.Result
	if err := json.Unmarshal([]byte(r.out), &res); err != nil || r.code != exitDifferences || res.Total != 1 || res.Redis.Newer != 7 ||
		res.Differences[0].Channel != "talk" || res.Differences[0].User != "ann" {
		t.Errorf("want ann's entry of talk, and 7 newer: %+v", r)
	}
	kept := s.verb("verify", "--redis", s.redis, "--repair", "--json")
	if err := json.Unmarshal([]byte(kept.out), &res); err != nil || kept.code != exitDifferences || !res.Redis.Repaired || res.Aside != "" {
		t.Errorf("--repair: %+v", kept)
	}
}

// listed are the names in a directory.
func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
