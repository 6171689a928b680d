package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/feed"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/traffic"
)

// Env has what the bench runs on.
type Env struct {
	Brokers  []string
	Program  string // the file of this program, which runs nodes
	Progress io.Writer
}

// size is the size of the bench.
type size struct {
	mix    traffic.Mix
	rate   int           // events per second
	soak   time.Duration // for which memory is watched
	settle time.Duration // for which the load goes on before something happens
	kills  int
	flags  []string // more flags of the nodes
}

const (
	partitions = 4
	memory     = "1GiB" // --memory of a node
)

// cluster has topics of its own and up to two nodes. Node one has an instance id, so that it keeps its
// partitions when it is killed and starts again. Node two has none, so that its partitions move when it
// stops.
type cluster struct {
	env Env
	size
	prefix   string // of its topics and groups
	dir      string
	client   *kgo.Client
	adm      *kadm.Client
	events   *traffic.Generator
	url      string // of node one
	one, two *Node
	all      []int32 // partitions
}

// open creates the topics and writes the joins.
func open(ctx context.Context, env Env, size size) (_ *cluster, err error) {
	c := &cluster{env: env, size: size, prefix: fmt.Sprintf("bench-%d-", time.Now().UnixNano()), events: traffic.New(size.mix)}
	for n := range int32(partitions) {
		c.all = append(c.all, n)
	}
	if c.client, err = c.feed().Producer(); err != nil {
		return nil, err
	}
	c.adm = kadm.NewClient(c.client)
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close(ctx))
		}
	}()
	if c.dir, err = os.MkdirTemp("", "tidemark-bench-"); err != nil {
		return nil, err
	}
	err = c.verb(ctx, "topics", "create", "--brokers", strings.Join(env.Brokers, ","), "--topic-prefix", c.prefix,
		"--partitions", fmt.Sprint(partitions), "--replication-factor", "1")
	if err == nil {
		err = c.feed().Write(ctx, c.client, c.events.Joins)
	}
	return c, err
}

// close kills the nodes, and removes their stores and the topics.
func (c *cluster) close(ctx context.Context) error {
	defer c.client.Close()
	for _, n := range []*Node{c.one, c.two} {
		if n != nil {
			n.Kill()
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var topics []string
	for _, t := range events.PrefixedTopicSpecs(c.prefix, partitions, 1) {
		topics = append(topics, t.Name)
	}
	answers, err := c.adm.DeleteTopics(ctx, topics...)
	return errors.Join(err, answers.Error(), os.RemoveAll(c.dir))
}

// verb runs another verb of this program.
func (c *cluster) verb(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, c.env.Program, args...) //nolint:gosec // this program
	cmd.Env = environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("tidemark %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

func (c *cluster) feed() feed.Feed {
	return feed.Feed{Brokers: c.env.Brokers, Mix: c.mix, Prefix: c.prefix, Partitions: partitions}
}

func (c *cluster) report(format string, args ...any) {
	if c.env.Progress != nil {
		fmt.Fprintf(c.env.Progress, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
	}
}

// load writes events until the caller calls stop, which returns the error of the writing.
func (c *cluster) load(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.feed().Pace(ctx, c.client, c.events, math.MaxInt, c.rate) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// written returns how many records the input topics have.
func (c *cluster) written(ctx context.Context) (n int64, err error) {
	for _, topic := range events.InputTopics {
		ends, err := c.adm.ListEndOffsets(ctx, c.prefix+topic)
		if err == nil {
			err = ends.Error()
		}
		if err != nil {
			return 0, err
		}
		ends.Each(func(o kadm.ListedOffset) { n += o.Offset })
	}
	return n, nil
}

// start starts a node.
func (c *cluster) start(name, url string, flags ...string) (*Node, error) {
	return Start(slices.Concat([]string{
		c.env.Program, "run", "--brokers", strings.Join(c.env.Brokers, ","), "--topic-prefix", c.prefix, "--group", c.prefix + "group",
		"--roles", "processor,query", "--data-dir", filepath.Join(c.dir, name), "--listen", strings.TrimPrefix(url, "http://"),
		"--memory", memory, "--standbys", "1", "--session-timeout", "6s", "--log-format", "json",
		"--snapshots", "file://" + filepath.Join(c.dir, "snapshots"), "--snapshot-every", "0s",
	}, flags, c.flags))
}

func (c *cluster) startOne() (err error) {
	c.one, err = c.start("one", c.url, "--instance-id", c.prefix+"one")
	return err
}

// again starts node one after its end, and waits until all partitions answer all calls.
func (c *cluster) again(ctx context.Context) error {
	if err := c.startOne(); err != nil {
		return err
	}
	return c.one.Await(ctx, "the partitions become live and list their cold channels", func(m Moments) bool {
		_, live := m.Took(Assigned, Live, c.all)
		_, listed := m.Took(Assigned, Listed, c.all)
		return live && listed
	})
}

// behind returns how many input records the group has not committed. It returns false unless the brokers
// answer for all partitions.
func (c *cluster) behind(ctx context.Context) (int64, bool) {
	group := c.prefix + "group"
	lags, err := c.adm.Lag(ctx, group)
	of := lags[group]
	if err != nil || of.Error() != nil {
		return 0, false
	}
	n, known := int64(0), 0
	for _, l := range of.Lag.Sorted() {
		if l.Err == nil && l.Lag >= 0 {
			n, known = n+l.Lag, known+1
		}
	}
	return n, known == partitions*len(events.InputTopics)
}

// freeURL returns a URL of this machine at which nobody listens.
func freeURL() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		return "", err
	}
	return "http://" + l.Addr().String(), l.Close()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
