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

	"github.com/tidemark/tidemark/internal/checker"
	"github.com/tidemark/tidemark/internal/testkit"
	"github.com/tidemark/tidemark/projections"
)

const (
	partitions = 6
	// fanoutLimit makes channels of this company large and small again.
	fanoutLimit = 8
)

// settings are those that the nodes fold with.
func settings() projections.Settings {
	s := projections.DefaultSettings()
	s.FanoutLimit = fanoutLimit
	return s
}

// cluster is a Kafka, a Redis and some nodes of one group, all of this test alone: the command knows the topics by the
// names of production.
type cluster struct {
	t      *testing.T
	kafka  *testkit.KafkaCluster
	redis  *testkit.RedisServer
	client *kgo.Client // writes the inputs, in order
	admin  *kadm.Client
	nodes  []*node
	seats  seats
	// retries is for how long a question is repeated that is answered with unavailable.
	retries time.Duration
	found   []*checker.Findings
}

// newCluster starts brokers, a Redis and nodes, and returns when all nodes are members of their groups. Each partition is
// followed by so many standbys, and is on every broker. The nodes get flags beside their own.
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
		addr := freeAddr(t)
		c.nodes = append(c.nodes, &node{
			t: t, name: name, url: "http://" + addr, data: filepath.Join(dir, name), log: filepath.Join(dir, name+".log"), guard: g,
			args: append([]string{"run", "--brokers", addrs, "--redis", c.redis.URL, "--roles", "processor,cache,query",
				"--data-dir", filepath.Join(dir, name), "--listen", addr, "--advertise", "http://" + addr,
				"--fanout-limit", strconv.Itoa(fanoutLimit), "--memory", "256MiB", "--standbys", strconv.Itoa(standbys)}, flags...),
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
			t.Log(f) // once more: behind the logs it is not overlooked
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

// keepLog prints the end of a node's log if the test has failed, and keeps all of it where TIDEMARK_CHAOS_LOGS says.
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

// overtaken is the line of some node's log that says that partitions were taken from it before it had finished with them,
// empty if none was: its successor may have begun by then.
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

// freeAddr is an address that nobody listens on, below the ports that are given to outgoing connections: a node that
// was killed must find it free.
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
