package preflight

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A Redis Cluster of six processes is refused, and answers as docs/redis.md says why: the keys of a
// user are in different slots, so neither a script nor a transaction can have them together.
func TestARedisClusterIsRefused(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	addrs := cluster(ctx, t)
	var r Report
	c := Config{Patience: 5 * time.Second}
	c.Node.Redis, c.Node.Roles = config.Redis{URL: "redis://" + addrs[0]}, config.Roles{config.RoleCache, config.RoleGateway}
	c.redis(ctx, &r)
	found := false
	for _, l := range r.Lines {
		found = found || l.Result == Failed && strings.Contains(l.Found, "it is a cluster") && strings.Contains(l.WayOut, "Sentinel")
	}
	if !found || r.Count(OK) > 0 {
		t.Errorf("the report is %+v", r.Lines)
	}

	one := redis.NewClient(&redis.Options{Addr: addrs[0], MaxRetries: -1})
	defer one.Close()
	keys := []string{"tidemark:epoch", "tidemark:cursors", "tidemark:owners"}
	if err := one.Eval(ctx, "return redis.call('GET', KEYS[1])", keys).Err(); err == nil || !strings.Contains(err.Error(), "CROSSSLOT Keys in request don't hash to the same slot") {
		t.Errorf("a script over %v: %v", keys, err)
	}
	if _, err := one.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, "inbox:ann", "c", "1") // slots of three different primaries
		p.HSet(ctx, "inbox:bob", "c", "1")
		p.HSet(ctx, "inbox:cat", "c", "1")
		p.HSet(ctx, "inbox-threads:ann", "c", "1")
		return nil
	}); err == nil || !strings.Contains(err.Error(), "MOVED") && !strings.Contains(err.Error(), "EXECABORT") {
		t.Errorf("a transaction: %v", err)
	}
	page, err := os.ReadFile("../../../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	slot := func(key string) int64 {
		n, err := one.ClusterKeySlot(ctx, key).Result()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if want := fmt.Sprintf("the slots are %d and %d", slot("inbox:ann"), slot("inbox-threads:ann")); !strings.Contains(string(page), want) {
		t.Errorf("docs/redis.md does not say that %s", want)
	}
}

// cluster starts six servers, three of them primaries, and returns their addresses.
func cluster(ctx context.Context, t *testing.T) (addrs []string) {
	t.Helper()
	server, cli := testkit.Program(t, "redis-server"), testkit.Program(t, "redis-cli")
	var held []net.Listener
	ports := make([]string, 12) // of six servers and their buses
	for i := range ports {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, ln) // until all are found, so that none is found twice
		ports[i] = strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
	}
	for _, ln := range held {
		ln.Close()
	}
	for i := range 6 {
		dir := filepath.Join(t.TempDir(), ports[i])
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(ctx, server, "--bind", "127.0.0.1", "--port", ports[i], "--cluster-port", ports[6+i], "--cluster-enabled", "yes",
			"--save", "", "--appendonly", "no", "--dir", dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait() // it was killed
		})
		addrs = append(addrs, "127.0.0.1:"+ports[i])
	}
	await(ctx, t, "six servers answer", func(cl *redis.Client) bool { return cl.Ping(ctx).Err() == nil }, addrs)
	args := append([]string{"--cluster", "create"}, addrs...)
	if out, err := exec.CommandContext(ctx, cli, append(args, "--cluster-replicas", "1", "--cluster-yes")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	await(ctx, t, "the cluster is whole", func(cl *redis.Client) bool {
		info, err := cl.ClusterInfo(ctx).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:6")
	}, addrs)
	return addrs
}

// await waits until every server is as f says.
func await(ctx context.Context, t *testing.T, what string, f func(*redis.Client) bool, addrs []string) {
	t.Helper()
	for _, addr := range addrs {
		cl := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		for !f(cl) {
			select {
			case <-ctx.Done():
				t.Fatalf("not so in time: %s", what)
			case <-time.After(50 * time.Millisecond):
			}
		}
		_ = cl.Close()
	}
}
