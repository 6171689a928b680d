package cache

import (
	"fmt"
	"net"
	"os"
	program "os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// The primary of a Sentinel dies while it is filled, so that the replica that takes its place has
// only a part. The cache finds it through the Sentinels and fills it: in the end it has all values.
func TestSentinelFailsOverDuringAFilling(t *testing.T) {
	primary, replica := testkit.Redis(t), testkit.Redis(t)
	replicaOf(t, replica, primary)
	sentinels := sentinels(t, primary, 3)
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), nParts, 1)
	h := newHistory()
	cl := producer(t, kafka.ListenAddrs())
	rng := seeded(t)
	produce(t, cl, topics, nParts, h.grow(rng, 20_000, 50, 40)...)

	rdb := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "tidemark", SentinelAddrs: sentinels, ContextTimeoutEnabled: true, MaxRetries: -1, ReadTimeout: 2 * time.Second, DialTimeout: time.Second,
	})
	t.Cleanup(func() { _ = rdb.Close() }) // it was only used for the test
	m := start(t, kafka.ListenAddrs(), topics, rdb, func(c *Config) { c.BatchRecords = 20 })
	copied := redisClient(t, replica.URL)
	eventually(t, "the replica has a part", func() bool { return copied.DBSize(t.Context()).Val() > 5 })
	primary.Kill()
	if m.complete.Is() {
		t.Fatal("Redis was complete before its primary died")
	}
	produce(t, cl, topics, nParts, h.grow(rng, 300, 50, 40)...) // while there is no primary
	eventually(t, "the replica is the primary", func() bool {
		role, err := copied.Do(t.Context(), "ROLE").Slice()
		return err == nil && len(role) > 0 && role[0] == "master"
	})
	m.ready(t)
	caughtUp(t, h, m)
	h.check(t, copied)

	// The old primary comes back, empty, and as a replica: it takes over nothing.
	primary.Start()
	old := redisClient(t, primary.URL)
	eventually(t, "the old primary has what the new one has", func() bool { return replicates(t, old) })
	produce(t, cl, topics, nParts, h.grow(rng, 300, 50, 40)...)
	caughtUp(t, h, m)
	h.check(t, rdb)
	h.await(t, old)
	h.check(t, old)
}

// replicaOf makes a server the replica of another one, and waits until it has all that it has.
func replicaOf(t *testing.T, replica, primary *testkit.RedisServer) {
	t.Helper()
	rdb := redisClient(t, replica.URL)
	host, port, err := net.SplitHostPort(redisClient(t, primary.URL).Options().Addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := rdb.ReplicaOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the replica is connected", func() bool { return replicates(t, rdb) })
}

// replicates reports whether a server is a replica that has what its primary has.
func replicates(t *testing.T, rdb *redis.Client) bool {
	t.Helper()
	role, err := rdb.Do(t.Context(), "ROLE").Slice()
	return err == nil && len(role) > 3 && role[0] == "slave" && role[3] == "connected"
}

// sentinels starts Sentinels that watch a primary as "tidemark", and returns their addresses once
// they know each other and its replica.
func sentinels(t *testing.T, primary *testkit.RedisServer, n int) (addrs []string) {
	t.Helper()
	host, port, err := net.SplitHostPort(redisClient(t, primary.URL).Options().Addr)
	if err != nil {
		t.Fatal(err)
	}
	server := testkit.Program(t, "redis-server")
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		own := ln.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a tcp listener
		conf := filepath.Join(t.TempDir(), "sentinel.conf")
		text := fmt.Sprintf("bind 127.0.0.1\nport %d\nsentinel monitor tidemark %s %s %d\n"+
			"sentinel down-after-milliseconds tidemark 500\nsentinel failover-timeout tidemark 2000\n", own, host, port, n/2+1)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ln.Close()
		c := program.CommandContext(t.Context(), server, conf, "--sentinel")
		c.Dir = filepath.Dir(conf)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait() // it was killed
		})
		addrs = append(addrs, "127.0.0.1:"+strconv.Itoa(own))
	}
	for _, addr := range addrs {
		sentinel := redis.NewSentinelClient(&redis.Options{Addr: addr})
		eventually(t, "a Sentinel knows the others and the replica", func() bool {
			got, err := sentinel.Master(t.Context(), "tidemark").Result()
			return err == nil && got["num-other-sentinels"] == strconv.Itoa(n-1) && got["num-slaves"] == "1"
		})
		_ = sentinel.Close() // it was only read from
	}
	return addrs
}
