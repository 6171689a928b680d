package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/demo"
	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/snapshot"
)

// Stack is everything, running. Its fields are the addresses to use.
type Stack struct {
	URL      string // of the page, queries and ingest
	Broker   string // host:port of Kafka
	RedisURL string
	DataDir  string
	Kept     bool // the data directory stays after Close

	cfg   Config
	lock  io.Closer
	kafka *kfake.Cluster
	redis *miniredis.Miniredis
	node  *node.Node

	stop   context.CancelFunc
	done   chan struct{} // closed when everything has ended
	err    error         // the reason, once done is closed
	closed sync.Once
}

// Start runs a stack. It returns when the ports are open and the topics exist. Partitions may still
// be opening; /readyz and AwaitReady show this.
func Start(ctx context.Context, c Config) (_ *Stack, err error) {
	c = c.withDefaults()
	s := &Stack{cfg: c, DataDir: c.DataDir, Kept: c.DataDir != "", done: make(chan struct{})}
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	if err := s.openDataDir(); err != nil {
		return nil, err
	}
	httpLn, err := c.listen("--listen", c.Listen)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			httpLn.Close()
		}
	}()
	if err := s.startServers(ctx); err != nil {
		return nil, err
	}
	s.URL = "http://" + httpLn.Addr().String()
	kafka := config.Kafka{Brokers: []string{s.Broker}}
	var chat *demo.Driver
	if c.Demo {
		if chat, err = s.demo(kafka); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				chat.Client.Close()
			}
		}()
	}
	snapshots, err := s.snapshots()
	if err != nil {
		return nil, err
	}
	// StopTimeout is the same as in every node, because the rebalance timeout follows from it. The
	// embedded broker waits for a killed member as long as the longest timeout of all members, and
	// restarts the wait with each join. So a member that gave up earlier and came back would never
	// get in again.
	s.node, err = node.New(ctx, node.Config{
		Roles: config.Roles{config.RoleProcessor, config.RoleCache, config.RoleQuery, config.RoleGateway},
		Kafka: kafka, Redis: config.Redis{URL: s.RedisURL}, Group: "tidemark", DataDir: filepath.Join(s.DataDir, "state"),
		Verifier: c.Verifier, Gateway: c.Gateway, Settings: c.Settings, ThreadsAlways: c.ThreadsAlways, RedisValues: c.RedisValues, RedisKeys: c.RedisKeys, Advertise: s.URL, Listener: httpLn, Memory: c.Memory, UI: s.page(chat), Edge: edge.Config{Hosts: c.Hosts}, Audit: c.Audit,
		Snapshots: snapshots, SnapshotEvery: c.SnapshotEvery,
		Build: c.Build, Logger: c.Logger, LogLevel: c.LogLevel,
	})
	if err != nil {
		return nil, err
	}
	s.run(chat)
	return s, nil
}

// openDataDir makes the directory and makes sure that no other stack uses it.
func (s *Stack) openDataDir() error {
	if s.DataDir == "" {
		dir, err := os.MkdirTemp("", "tidemark-dev-")
		if err != nil {
			return fmt.Errorf("temporary data directory: %w", err)
		}
		s.DataDir = dir
	} else if err := private.MkdirAll(s.DataDir); err != nil {
		return fmt.Errorf("--data-dir %s cannot be made (%w): name a directory that this user may write to", s.DataDir, err)
	}
	lock, err := vfs.Default.Lock(filepath.Join(s.DataDir, "LOCK"))
	switch {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		return fmt.Errorf("--data-dir %s: %w: name a directory that this user may write to", s.DataDir, err)
	case err != nil:
		return fmt.Errorf("--data-dir %s is in use by another `tidemark dev` (%w): stop that one, or name another directory",
			s.DataDir, err)
	}
	s.lock = lock
	return nil
}

// startServers starts Kafka, with its topics, and Redis.
func (s *Stack) startServers(ctx context.Context) error {
	ln, err := s.cfg.listen("--kafka-listen", s.cfg.KafkaListen)
	if err != nil {
		return err
	}
	if s.kafka, err = startBroker(ln, filepath.Join(s.DataDir, "kafka")); err != nil {
		ln.Close()
		return err
	}
	s.Broker = ln.Addr().String()
	s.redis = miniredis.NewMiniRedis()
	s.redis.ClockTTL(true)
	if err := s.cfg.open("--redis-listen", s.cfg.RedisListen, s.redis.StartAddr); err != nil {
		s.redis = nil
		return err
	}
	s.RedisURL = "redis://" + s.redis.Addr()
	return createTopics(ctx, s.Broker, s.cfg.Partitions)
}

// snapshots returns the place of snapshots; nil if none are taken.
func (s *Stack) snapshots() (*snapshot.Repository, error) {
	if s.cfg.SnapshotEvery == 0 {
		return nil, nil
	}
	dir, err := filepath.Abs(filepath.Join(s.DataDir, "snapshots"))
	if err != nil {
		return nil, fmt.Errorf("directory of snapshots: %w", err)
	}
	b, err := snapshot.OpenBucket((&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String())
	if err != nil {
		return nil, err
	}
	return snapshot.New(b, snapshot.Options{Logger: s.cfg.Logger}), nil
}

// demo returns the driver of the demo. Its messages have new ids on each start.
func (s *Stack) demo(kafka config.Kafka) (*demo.Driver, error) {
	cl, err := kgo.NewClient(append(kafka.ClientOptions(), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.DisableClientMetrics())...)
	if err != nil {
		return nil, err
	}
	run := strconv.FormatInt(time.Now().UnixMilli(), 36)
	return &demo.Driver{Client: cl, Scenario: demo.New(s.cfg.DemoSeed, run), Logger: s.cfg.Logger}, nil
}

// run runs the node, and the demo beside it, until Close or until one of them fails.
func (s *Stack) run(chat *demo.Driver) {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	guard.Go("the node", func(*guard.Error) {}, func() {
		defer close(s.done)
		defer s.release()
		defer cancel()
		defer guard.Recover("the node", &s.err)
		var wg sync.WaitGroup
		var chatErr error
		if chat != nil {
			wg.Go(func() {
				chatErr = guard.Err("the demo", func() error {
					defer chat.Client.Close()
					return chat.Run(ctx)
				})
			})
		}
		nodeErr := s.node.Run(ctx)
		cancel()
		wg.Wait()
		s.err = errors.Join(nodeErr, chatErr)
	})
}

// Done is closed when everything has ended, because of Close or of a failure.
func (s *Stack) Done() <-chan struct{} { return s.done }

// Close stops everything in order and removes a temporary data directory. It returns the reason why
// the stack ended before, if it did. A second Close does nothing more.
func (s *Stack) Close() error {
	s.closed.Do(s.stop)
	<-s.done
	return s.err
}

// release ends the started parts in reverse order.
func (s *Stack) release() {
	if s.redis != nil {
		s.redis.Close()
	}
	if s.kafka != nil {
		s.kafka.Close()
	}
	if s.lock != nil {
		s.lock.Close()
	}
	if !s.Kept && s.DataDir != "" {
		if err := os.RemoveAll(s.DataDir); err != nil {
			s.cfg.Logger.Warn("the temporary data directory could not be removed", "dir", s.DataDir, "err", err)
		}
	}
}

// AwaitReady returns when all partitions are live, or an error with the first line of /readyz.
func (s *Stack) AwaitReady(ctx context.Context) error {
	for {
		r := s.node.Ready()
		if r.Ready {
			return nil
		}
		select {
		case <-s.done:
			return s.err
		case <-ctx.Done():
			return fmt.Errorf("not ready: %v: %w", r.Lines, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}
