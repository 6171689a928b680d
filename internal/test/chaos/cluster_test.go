package chaos

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

const (
	partitions = 6
	// fanoutLimit is small enough that channels of this company become large and small again.
	fanoutLimit = 8
)

// settings returns the settings of the nodes.
func settings() projections.Settings {
	s := projections.DefaultSettings()
	s.FanoutLimit = fanoutLimit
	return s
}

// cluster is a Kafka, a Redis and some nodes of one group, for one test alone: the command uses the
// topic names of production.
type cluster struct {
	t      *testing.T
	kafka  *testkit.KafkaCluster
	redis  *testkit.RedisServer
	client *kgo.Client // writes the inputs, in order
	admin  *kadm.Client
	nodes  []*node
	seats  seats
	// retries is how long ask repeats an unavailable query.
	retries time.Duration
	found   []*checker.Findings
	// redisValues is the flag --redis-values of the nodes.
	redisValues string
}

// newCluster starts brokers, a Redis and nodes, and returns when all nodes are members of their
// groups. Each partition has this many standbys and a replica on every broker. The nodes get flags
// in addition to their own.
func newCluster(t *testing.T, brokers, nodes, standbys int, flags ...string) *cluster {
	t.Helper()
	testkit.NeedsServer(t)
	tidemark(t)
	c := &cluster{t: t, kafka: testkit.KafkaN(t, brokers), redis: testkit.Redis(t), seats: seats{}, retries: patience}
	c.client = testkit.Client(t, c.kafka.Brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	c.admin = testkit.Admin(t, c.kafka.Brokers)
	for _, group := range groups {
		c.seats[group] = map[string]*node{}
	}
	addrs := strings.Join(c.kafka.Brokers, ",")
	create := command(t, "topics", "create", "--brokers", addrs, "--partitions", strconv.Itoa(partitions),
		"--replication-factor", strconv.Itoa(brokers))
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", create, err, out)
	}

	g, dir := newGuard(t), t.TempDir()
	for i := range nodes {
		name := fmt.Sprintf("node%d", i+1)
		hot := "0"
		if i%2 == 1 { // nearly every channel of this node is cold
			hot = "1KiB"
		}
		addr := freeAddr(t)
		c.nodes = append(c.nodes, &node{
			t: t, name: name, url: "http://" + addr, data: filepath.Join(dir, name), log: filepath.Join(dir, name+".log"), guard: g,
			args: append([]string{"run", "--brokers", addrs, "--redis", c.redis.URL, "--roles", "processor,cache,query",
				"--data-dir", filepath.Join(dir, name), "--listen", addr, "--advertise", "http://" + addr,
				"--fanout-limit", strconv.Itoa(fanoutLimit), "--memory", "256MiB", "--hot-memory", hot, "--standbys", strconv.Itoa(standbys)}, flags...),
		})
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			if n.cmd != nil {
				_ = n.cmd.Process.Kill()
				<-n.done
			}
			c.keepLog(n)
		}
		for _, f := range c.found {
			t.Log(f) // again, after the logs, where nobody overlooks it
		}
	})
	for _, n := range c.nodes {
		n.start()
		c.until(n.name+" is a member", func() bool { return c.seat(n) })
	}
	return c
}

// report fails the test if there are findings.
func (c *cluster) report(f *checker.Findings) {
	c.t.Helper()
	if f.Report(c.t); f.Count > 0 {
		c.found = append(c.found, f)
	}
}

// produce writes a record without waiting. settle waits for all.
func (c *cluster) produce(r *kgo.Record) {
	c.client.Produce(context.Background(), r, func(r *kgo.Record, err error) {
		if err != nil {
			c.t.Errorf("produce to %s/%d: %v", r.Topic, r.Partition, err)
		}
	})
}

// If the test has failed, keepLog prints the end of a node's log and copies the whole log to the
// folder TIDEMARK_CHAOS_LOGS.
func (c *cluster) keepLog(n *node) {
	if c.t.Failed() {
		c.t.Logf("what %s warned of:\n%s\nthe end of its log:\n%s", n.name, strings.Join(n.warned(40), "\n"), n.tail(15))
	}
	dir := os.Getenv("TIDEMARK_CHAOS_LOGS")
	if dir == "" {
		return
	}
	log, err := os.ReadFile(n.log)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(c.t.Name(), "/", "-")+"-"+n.name+".log"), log, 0o644)
	}
	if err != nil {
		c.t.Logf("the log of %s is not kept: %v", n.name, err)
	}
}

// overtaken returns a line of a node's log which says that the node lost partitions before it had
// finished them, or "". The next owner may then have begun before the old one ended.
func (c *cluster) overtaken() string {
	for _, n := range c.nodes {
		for _, line := range n.warned(math.MaxInt) {
			if strings.Contains(line, `msg="partitions lost"`) || strings.Contains(line, "are cut off") {
				return n.name + ": " + line
			}
		}
	}
	return ""
}

// freeAddr returns an address that nobody listens on, below the ports of outgoing connections: a
// node that was killed must find it free again.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 15000+rand.IntN(17000))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no free port on 127.0.0.1")
	return ""
}
