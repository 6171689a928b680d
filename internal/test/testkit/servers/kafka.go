package servers

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

// KafkaOptions says how a cluster is run. The zero value is one small broker.
type KafkaOptions struct {
	// Nodes is the number of brokers, each of which is a controller too; 0 means 1. Three brokers
	// survive the loss of one.
	Nodes int
	// JVM has the options of the Java virtual machine. nil means a heap of 512 MB and few threads,
	// which suits tests. Benchmarks set their own.
	JVM []string
	// Properties are added to the server.properties of every broker and replace existing ones.
	Properties map[string]string
	// Cert and Key, in PEM form, give every broker a second listener, for TLS and logins by
	// SCRAM-SHA-512, whose users need rights (ACLs). The first listener stays open: its clients
	// have all rights, and grant rights to others.
	Cert, Key []byte
}

// Kafka is a running cluster. Nodes are numbered from 1.
type Kafka struct {
	guard *guard
	id    string
	nodes []*process
	// secured are the addresses of the second listeners, if there are any.
	secured []string
}

// testJVM uses the serial collector, which needs no threads of its own on a small machine.
var testJVM = []string{"-Xmx512m", "-XX:+UseSerialGC", "-Xshare:auto"}

// StartKafka starts a cluster on free ports of 127.0.0.1 with an empty data directory, and returns
// when every broker is a member and a controller is elected. Close ends it.
func StartKafka(ctx context.Context, opts KafkaOptions) (*Kafka, error) {
	if opts.Nodes == 0 {
		opts.Nodes = 1
	}
	if opts.JVM == nil {
		opts.JVM = testJVM
	}
	java, err := lookPath("java", "Java 17 or newer", "openjdk-17-jre-headless")
	if err != nil {
		return nil, err
	}
	libs, err := KafkaLibs(ctx)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		k, err := startKafka(ctx, java, libs, opts)
		// Another process may take the port before the broker uses it.
		if errors.Is(err, errPortTaken) && try < 3 {
			continue
		}
		return k, err
	}
}

func startKafka(ctx context.Context, java, libs string, opts KafkaOptions) (_ *Kafka, err error) {
	ports, err := freePorts(3 * opts.Nodes)
	if err != nil {
		return nil, err
	}
	dir, g, err := guardedDir("kafka")
	if err != nil {
		return nil, err
	}
	k := &Kafka{guard: g, id: randomClusterID()}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.Close())
		}
	}()

	listen, control, secured := ports[:opts.Nodes], ports[opts.Nodes:2*opts.Nodes], ports[2*opts.Nodes:]
	starting, startCtx := errgroup.WithContext(ctx)
	for i := range opts.Nodes {
		node := filepath.Join(dir, fmt.Sprintf("node-%d", i+1))
		properties := serverProperties(node, i+1, listen, control, opts.Properties)
		if opts.Cert != nil {
			secure(properties, secured[i], opts.Cert, opts.Key)
			k.secured = append(k.secured, fmt.Sprintf("127.0.0.1:%d", secured[i]))
		}
		if err := writeConfig(node, properties); err != nil {
			return nil, err
		}
		argv := append([]string{java}, opts.JVM...)
		argv = append(argv, "-Dlog4j2.configurationFile="+filepath.Join(node, "log4j2.properties"), "-cp", filepath.Join(libs, "*"))
		p := &process{
			name:  fmt.Sprintf("kafka-%d", i+1),
			argv:  append(argv, "kafka.Kafka", "server.properties"),
			dir:   node,
			addr:  fmt.Sprintf("127.0.0.1:%d", listen[i]),
			guard: g,
		}
		k.nodes = append(k.nodes, p)
		starting.Go(func() error {
			format := exec.CommandContext(startCtx, java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", filepath.Join(libs, "*"),
				"kafka.tools.StorageTool", "format", "-t", k.id, "-c", "server.properties")
			format.Dir = node
			if out, err := format.CombinedOutput(); err != nil {
				return fmt.Errorf("format the storage of %s: %w\n%s", p.name, err, out)
			}
			return p.start(startCtx)
		})
	}
	if err := starting.Wait(); err != nil {
		return nil, err
	}
	for i := range k.nodes {
		if err := k.awaitMembers(ctx, i+1, opts.Nodes); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// randomClusterID returns 16 bytes in Kafka's base64. The first byte is below 128, because the
// format command would take an id that begins with a dash for an option.
func randomClusterID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[0] &= 0x7f
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// writeConfig makes a node's directory with its server.properties and log configuration.
func writeConfig(dir string, properties map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("data directory of Kafka: %w", err)
	}
	var b strings.Builder
	for k, v := range properties {
		fmt.Fprintf(&b, "%s=%s\n", k, v)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.properties"), []byte(b.String()), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "log4j2.properties"), []byte(log4j2Properties), 0o644)
}

// awaitMembers returns when the given node knows n live brokers and a controller.
func (k *Kafka) awaitMembers(ctx context.Context, node, n int) error {
	p := k.nodes[node-1]
	adm, err := kadm.NewOptClient(kgo.SeedBrokers(p.addr), kgo.DisableClientMetrics())
	if err != nil {
		return fmt.Errorf("client of %s: %w", p.name, err)
	}
	defer adm.Close()
	for {
		md, err := adm.BrokerMetadata(kadm.WithAuthorizedOps(ctx)) // a fresh answer: without it the client's cache answers
		if err == nil && md.Cluster != k.id {
			return fmt.Errorf("%s at %s: %w by cluster %s", p.name, p.addr, errPortTaken, md.Cluster)
		}
		if err == nil && len(md.Brokers) >= n && md.Controller >= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s knows %d of %d brokers: %w; the end of its log:\n%s",
				p.name, len(md.Brokers), n, errors.Join(context.Cause(ctx), err), p.logTail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Brokers returns the addresses of all nodes, running or not, in order.
func (k *Kafka) Brokers() []string {
	addrs := make([]string, len(k.nodes))
	for i, p := range k.nodes {
		addrs[i] = p.addr
	}
	return addrs
}

// Secured returns the addresses of the listeners for TLS and SCRAM, in the order of the nodes.
// Without a certificate there are none.
func (k *Kafka) Secured() []string { return k.secured }

// Start restarts a node that was stopped or killed, with its data and address, and returns once it
// is a member.
func (k *Kafka) Start(ctx context.Context, node int) error {
	p, err := k.node(node)
	if err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		return err
	}
	return k.awaitMembers(ctx, node, 1)
}

// Stop ends a node in order: it hands its partitions over first.
func (k *Kafka) Stop(node int) error { return k.on(node, (*process).stop) }

// Kill ends a node with SIGKILL.
func (k *Kafka) Kill(node int) error { return k.on(node, (*process).kill) }

// Pause freezes a node with SIGSTOP until Continue.
func (k *Kafka) Pause(node int) error { return k.on(node, (*process).pause) }

// Continue ends a pause.
func (k *Kafka) Continue(node int) error { return k.on(node, (*process).resume) }

// Close kills all nodes and removes their data.
func (k *Kafka) Close() error {
	var errs []error
	for _, p := range k.nodes {
		errs = append(errs, p.kill())
	}
	return errors.Join(append(errs, k.guard.release())...)
}

func (k *Kafka) on(node int, do func(*process) error) error {
	p, err := k.node(node)
	if err != nil {
		return err
	}
	return do(p)
}

func (k *Kafka) node(node int) (*process, error) {
	if node < 1 || node > len(k.nodes) {
		return nil, fmt.Errorf("no node %d: the cluster has nodes 1 to %d", node, len(k.nodes))
	}
	return k.nodes[node-1], nil
}
