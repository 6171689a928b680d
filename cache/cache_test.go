package cache

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// partitions of the topics in these tests.
const nParts = 3

// caughtUp waits until the members have applied everything in the topics.
func caughtUp(t testing.TB, h *history, ms ...*member) {
	t.Helper()
	eventually(t, "everything is applied", func() bool {
		n := 0
		for _, m := range ms {
			for _, r := range []string{"applied", "stale", "coalesced", "bad"} {
				n += m.counted(r)
			}
		}
		return n >= len(h.records)
	})
}

func TestTopicsToRedis(t *testing.T) {
	eachValues(t, func(t *testing.T, env testkit.Env, rdb *redis.Client) {
		topics := env.Topics(t, nParts)
		cl := producer(t, env.Brokers)
		rng := seeded(t)
		h := newHistory()
		produce(t, cl, topics, nParts, h.grow(rng, 500, 5, 7)...)
		m := start(t, env.Brokers, topics, rdb)
		m.ready(t) // complete: it has everything from before its start
		h.check(t, rdb)
		produce(t, cl, topics, nParts, h.grow(rng, 500, 5, 7)...)
		caughtUp(t, h, m)
		h.check(t, rdb)
		if n := m.counted("coalesced"); n == 0 {
			t.Error("no record was coalesced")
		}
	})
}

// TestRestartGoesOn: a restarted cache continues at the cursors in Redis, and publishes nothing
// twice.
func TestRestartGoesOn(t *testing.T) {
	eachValues(t, func(t *testing.T, env testkit.Env, rdb *redis.Client) {
		topics := env.Topics(t, nParts)
		cl := producer(t, env.Brokers)
		rng := seeded(t)
		h := newHistory()
		produce(t, cl, topics, nParts, h.grow(rng, 300, 5, 7)...)
		m := start(t, env.Brokers, topics, rdb)
		m.ready(t)
		m.stop()
		produce(t, cl, topics, nParts, h.grow(rng, 50, 5, 7)...)
		sub := rdb.PSubscribe(t.Context(), "unread:*")
		defer sub.Close()
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := start(t, env.Brokers, topics, rdb)
		again.ready(t)
		eventually(t, "the rest is applied", func() bool {
			return again.counted("applied")+again.counted("stale")+again.counted("coalesced") >= 50
		})
		h.check(t, rdb)
		if n := again.counted("applied") + again.counted("stale") + again.counted("coalesced"); n != 50 {
			t.Errorf("%d records were read after the restart, want 50", n)
		}
		if counterOf(again.metrics.fillings.WithLabelValues("empty")) != 0 {
			t.Error("the restart began a new filling")
		}
	})
}

// Two members share the partitions; each may come and go under traffic.
func TestMembersComeAndGo(t *testing.T) {
	eachValues(t, func(t *testing.T, env testkit.Env, rdb *redis.Client) {
		topics := env.Topics(t, nParts)
		cl := producer(t, env.Brokers)
		rng := seeded(t)
		h := newHistory()
		one := start(t, env.Brokers, topics, rdb)
		one.ready(t)
		var two *member
		for round := range 12 {
			produce(t, cl, topics, nParts, h.grow(rng, 200, 5, 7)...)
			switch round {
			case 2:
				two = start(t, env.Brokers, topics, rdb)
			case 6:
				one.stop()
			case 8:
				one = start(t, env.Brokers, topics, rdb)
			case 10:
				two.stop()
			}
		}
		eventually(t, "Redis holds the end of the history", func() bool {
			got := dump(t, rdb)
			for k, v := range h.want() {
				if got[k] != v {
					return false
				}
			}
			return true
		})
		h.check(t, rdb)
		one.ready(t)
	})
}

// The end of a log may be a control record, which no consumer of values sees.
func TestFillingEndsAtAControlRecord(t *testing.T) {
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), 1, 1)
	cl := testkit.Client(t, kafka.ListenAddrs(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("t"))
	for range 2 {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		produce(t, cl, topics, 1, unreadRecord(small("u", "c", 1, 0)), channelRecord(head("c", 1, 1)))
		if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
	}
	rdb := redisClient(t, "redis://"+testkit.Miniredis(t).Addr())
	start(t, kafka.ListenAddrs(), topics, rdb).ready(t)
}

// A compacted log begins beyond zero and has gaps.
func TestCompactedLog(t *testing.T) {
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), 1, 1)
	cl := producer(t, kafka.ListenAddrs())
	h := newHistory()
	rng := seeded(t)
	for range 20 {
		produce(t, cl, topics, 1, h.grow(rng, 100, 3, 4)...)
	}
	kafka.Compact()
	rdb := redisClient(t, "redis://"+testkit.Miniredis(t).Addr())
	m := start(t, kafka.ListenAddrs(), topics, rdb)
	m.ready(t)
	h.check(t, rdb)
	read := m.counted("applied") + m.counted("stale") + m.counted("coalesced")
	if read >= len(h.records) {
		t.Errorf("%d of %d records were read: the log was not compacted, and the test shows nothing", read, len(h.records))
	}
}

// A cache that fills Redis reads old records again. It does not publish them, and publishes records
// that arrive meanwhile.
func TestFillingDoesNotPublishThePast(t *testing.T) {
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), 1, 1)
	rdb := redisClient(t, "redis://"+testkit.Miniredis(t).Addr())
	cl := producer(t, kafka.ListenAddrs())
	sub := rdb.PSubscribe(t.Context(), "unread:*")
	defer sub.Close()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	produce(t, cl, topics, 1, unreadRecord(small("u", "c", 1, 0)))
	m := start(t, kafka.ListenAddrs(), topics, rdb)
	m.ready(t)
	produce(t, cl, topics, 1, unreadRecord(small("u", "c", 2, 0)))
	if got := collect(t, sub, 1); !strings.Contains(got[0], "1.2.0.0") {
		t.Fatalf("published %s, want the one that came after the start", got[0])
	}
	m.stop() // commits
	rdb.FlushAll(t.Context())
	produce(t, cl, topics, 1, unreadRecord(small("u", "c", 3, 0)), unreadRecord(small("u", "d", 3, 0)))
	start(t, kafka.ListenAddrs(), topics, rdb).ready(t)
	got := strings.Join(collect(t, sub, 2), "\n")
	if !strings.Contains(got, `"channel_id":"c","member":true,"unread":3`) || !strings.Contains(got, `"channel_id":"d","member":true,"unread":3`) {
		t.Errorf("published\n%s\nwant the two that came while nobody ran", got)
	}
}

// A cache counts and logs bad records, and skips them.
func TestBadRecordsDoNotStopAPartition(t *testing.T) {
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), 1, 1)
	rdb := redisClient(t, "redis://"+testkit.Miniredis(t).Addr())
	cl := producer(t, kafka.ListenAddrs())
	produce(t, cl, topics, 1,
		&kgo.Record{Topic: events.TopicUnread, Key: []byte("u\x00c"), Value: []byte("garbage")},
		&kgo.Record{Topic: events.TopicUnread, Value: []byte("garbage")},
		&kgo.Record{Topic: events.TopicChannels, Key: []byte("c"), Value: []byte{0xff, 0xff}},
		unreadRecord(small("u", "c", 1, 0)))
	m := start(t, kafka.ListenAddrs(), topics, rdb)
	m.ready(t)
	if m.counted("bad") != 3 || m.counted("applied") != 1 {
		t.Errorf("bad %d, applied %d; want 3, 1", m.counted("bad"), m.counted("applied"))
	}
}

// A cache waits for topics that do not exist yet.
func TestTopicsThatComeLater(t *testing.T) {
	kafka := testkit.FakeKafka(t, kfake.NumBrokers(1))
	rdb := redisClient(t, "redis://"+testkit.Miniredis(t).Addr())
	m := start(t, kafka.ListenAddrs(), testkit.TopicSet{Prefix: "later."}, rdb)
	eventually(t, "what is missing shows", func() bool {
		ok, lines := m.Ready()
		return !ok && len(lines) == 1 && strings.Contains(lines[0], "topics create")
	})
	adm := testkit.Admin(t, kafka.ListenAddrs())
	for _, topic := range []string{"later." + events.TopicUnread, "later." + events.TopicChannels} {
		if _, err := adm.CreateTopic(t.Context(), 1, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
	}
	m.ready(t)
}

func TestConfigIsChecked(t *testing.T) {
	rdb := redisClient(t, "redis://127.0.0.1:1")
	for want, c := range map[string]Config{
		"no brokers":   {Redis: rdb},
		"no Redis":     {Brokers: []string{"b"}},
		"both":         {Brokers: []string{"b"}, Redis: rdb, Unread: "t", Channels: "t"},
		"Pipelines":    {Brokers: []string{"b"}, Redis: rdb, Pipelines: -1},
		"RetryMax":     {Brokers: []string{"b"}, Redis: rdb, RetryMin: time.Hour},
		"RemovalTTL":   {Brokers: []string{"b"}, Redis: rdb, RemovalTTL: time.Millisecond},
		"BatchRecords": {Brokers: []string{"b"}, Redis: rdb, BatchRecords: -1},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
