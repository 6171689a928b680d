package testkit

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// Names of the environment variables that cmd/servers sets for the command it runs.
const (
	// BrokersEnv has the addresses, separated by commas, of a running Kafka that tests are to
	// share.
	BrokersEnv = "TIDEMARK_TEST_BROKERS"
	// RedisEnv has the URL of a running redis-server, for programs that measure. Tests start their
	// own.
	RedisEnv = "TIDEMARK_TEST_REDIS"
)

// startTimeout bounds the start of a server. Three brokers take seven seconds on an idle machine,
// and Kafka's jars may need downloading first.
const startTimeout = 3 * time.Minute

// KafkaCluster is a real Kafka as one test sees it. Nodes are numbered from 1. Its methods fail the
// test.
type KafkaCluster struct {
	// Brokers are the addresses of all nodes, running or not.
	Brokers []string

	t   testing.TB
	own *servers.Kafka // nil when the cluster is shared
}

// shared is the broker of this test binary. It runs until the binary ends; package servers stops
// it.
var shared struct {
	once    sync.Once
	brokers []string
	err     error
}

// Kafka returns the one-broker Kafka that this test binary shares among its tests: the one of
// $TIDEMARK_TEST_BROKERS, else one that the first caller starts.
func Kafka(t testing.TB) *KafkaCluster {
	t.Helper()
	NeedsServer(t)
	shared.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		if env := os.Getenv(BrokersEnv); env != "" {
			shared.brokers = strings.Split(env, ",")
			shared.err = reachable(ctx, shared.brokers)
			return
		}
		var k *servers.Kafka
		if k, shared.err = servers.StartKafka(ctx, servers.KafkaOptions{}); shared.err == nil {
			shared.brokers = k.Brokers()
		}
	})
	if shared.err != nil {
		t.Fatalf("real Kafka for tests: %v", shared.err)
	}
	return &KafkaCluster{Brokers: shared.brokers, t: t}
}

// reachable returns nil if a broker answers within ten seconds.
func reachable(ctx context.Context, brokers []string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	return cl.Ping(ctx)
}

// KafkaN starts a cluster of n brokers for this test alone, and ends it with the test. One broker
// takes about 3 s, three about 7 s. Three survive the loss of one; topics should be created with 3
// replicas.
func KafkaN(t testing.TB, n int) *KafkaCluster {
	t.Helper()
	NeedsServer(t)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	k, err := servers.StartKafka(ctx, servers.KafkaOptions{Nodes: n})
	if err != nil {
		t.Fatalf("real Kafka of %d brokers: %v", n, err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Errorf("end Kafka: %v", err)
		}
	})
	return &KafkaCluster{Brokers: k.Brokers(), t: t, own: k}
}

// Start restarts a node that was stopped or killed, with its data and address.
func (c *KafkaCluster) Start(node int) {
	c.t.Helper()
	c.do("start", func(k *servers.Kafka) error {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		return k.Start(ctx, node)
	})
}

// Stop shuts a node down: it hands over the leadership of its partitions first.
func (c *KafkaCluster) Stop(node int) {
	c.t.Helper()
	c.do("stop", func(k *servers.Kafka) error { return k.Stop(node) })
}

// Kill kills a node with SIGKILL. The others notice after about 3 s.
func (c *KafkaCluster) Kill(node int) {
	c.t.Helper()
	c.do("kill", func(k *servers.Kafka) error { return k.Kill(node) })
}

// Pause freezes a node with SIGSTOP: connections stay open and nothing answers, until Continue.
func (c *KafkaCluster) Pause(node int) {
	c.t.Helper()
	c.do("pause", func(k *servers.Kafka) error { return k.Pause(node) })
}

// Continue ends a pause.
func (c *KafkaCluster) Continue(node int) {
	c.t.Helper()
	c.do("continue", func(k *servers.Kafka) error { return k.Continue(node) })
}

func (c *KafkaCluster) do(what string, f func(*servers.Kafka) error) {
	c.t.Helper()
	if c.own == nil {
		c.t.Fatalf("%s a broker: this Kafka is shared by other tests; start one with testkit.KafkaN", what)
	}
	if err := f(c.own); err != nil {
		c.t.Fatalf("%s a broker: %v", what, err)
	}
}

// Leader returns the node that leads a partition, once all brokers that answer name the same one.
func (c *KafkaCluster) Leader(topic string, partition int32) int {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	p, err := agreedPartition(ctx, Client(c.t, c.Brokers), topic, partition)
	if err != nil {
		c.t.Fatalf("leader of %s/%d: %v", topic, partition, err)
	}
	return int(p.Leader)
}

// MoveLeader makes a node the leader of a partition that it has a replica of, and waits until it
// is.
func (c *KafkaCluster) MoveLeader(topic string, partition int32, node int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := moveLeader(ctx, Client(c.t, c.Brokers), topic, partition, int32(node)); err != nil {
		c.t.Fatalf("move the leader of %s/%d to node %d: %v", topic, partition, node, err)
	}
}
