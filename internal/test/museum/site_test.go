package museum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

const (
	// shared is the number of partitions that all stories share. Each partition above belongs to
	// one story.
	shared     = 2
	partitions = 18
)

// patience bounds every wait. It is long because test machines may be slow.
var patience = time.Minute

func init() {
	if full {
		patience = 10 * time.Minute
	}
}

// site is a running Tidemark on the Kafka and the Redis of an environment: one node with all roles
// except the gateway, and one gateway.
type site struct {
	t      *testing.T
	env    testkit.Env
	set    testkit.TopicSet
	topics processor.Topics
	group  string
	dir    string // of the stores
	always bool   // --thread-listing always

	rdb       *redis.Client
	reader    *cache.Reader
	producer  *kgo.Client
	published *published
	shown     *shown
	sockets   *sockets // nil: there is no gateway

	log    *testkit.Output
	url    string
	query  queryv1connect.QueryServiceClient
	ingest ingestv1connect.IngestServiceClient
	stop   func()

	mu    sync.Mutex
	alone int32 // partitions that belong to one story
}

// newSite starts a site that ends with the test.
func newSite(t *testing.T, env testkit.Env) *site { return newSiteOf(t, env, false) }

// newSiteOf starts a site that lists threads for 30 days, or always.
func newSiteOf(t *testing.T, env testkit.Env, always bool) *site {
	t.Helper()
	s := &site{t: t, always: always, env: env, set: env.Topics(t, partitions), group: testkit.UniqueName(t, "museum"), dir: filepath.Join(t.TempDir(), "state"), log: new(testkit.Output)}
	for i, name := range events.InputTopics {
		s.topics.Inputs[i] = s.set.Name(name)
	}
	s.topics.Unread, s.topics.Channels = s.set.Name(events.TopicUnread), s.set.Name(events.TopicChannels)
	s.topics.Receipts = s.set.Name(events.TopicReceipts)
	s.topics.DeadLetters = s.set.Name(events.TopicDeadLetters)
	o, err := redis.ParseURL(env.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	s.rdb = redis.NewClient(o)
	t.Cleanup(func() { _ = s.rdb.Close() })
	s.reader = cache.NewReader(s.rdb)
	s.producer = testkit.Client(t, env.Brokers, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	s.published, s.shown = newPublished(), newShown()
	listen(t, env.Brokers, s.topics.Unread, s.published.take)
	listen(t, env.Brokers, s.topics.Receipts, s.shown.take)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("what the node warned of:\n%s", s.log.String())
		}
	})
	return s
}

// start runs a node on the stores in the directory, and waits until all its partitions are live and
// Redis is filled.
func (s *site) start() error {
	s.stop = func() {}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.url = "http://" + ln.Addr().String()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	n, err := node.New(ctx, node.Config{
		Roles: config.Roles{config.RoleProcessor, config.RoleCache, config.RoleQuery},
		Kafka: config.Kafka{Brokers: s.env.Brokers, Options: testkit.FastClientOpts()}, Redis: config.Redis{URL: s.env.RedisURL},
		Topics: s.topics, Group: s.group, DataDir: s.dir, Settings: projections.DefaultSettings(),
		Advertise: s.url, Listener: ln, ThreadsAlways: s.always, Logger: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	runCtx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(runCtx) }()
	idle := &http.Transport{MaxIdleConnsPerHost: 64}
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			idle.CloseIdleConnections()
			end()
			if err := <-done; err != nil {
				s.t.Errorf("the node ended with: %v", err)
			}
		})
	}
	httpClient := &http.Client{Transport: idle}
	s.query = queryv1connect.NewQueryServiceClient(httpClient, s.url)
	s.ingest = ingestv1connect.NewIngestServiceClient(httpClient, s.url)
	saw, ok := eventually(func() (bool, string) {
		r := n.Ready()
		if epoch := s.rdb.Exists(ctx, "tidemark:epoch").Val(); epoch == 0 {
			return false, "Redis is not filled"
		}
		return r.Ready, strings.Join(r.Lines, "; ")
	})
	if !ok {
		return fmt.Errorf("the node is not ready after %s: %s", patience, saw)
	}
	return nil
}

// lose removes the stores of a stopped node and all of Redis. Only the topics remain.
func (s *site) lose() {
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Error(err)
	}
	if err := s.rdb.FlushAll(context.Background()).Err(); err != nil {
		s.t.Error(err)
	}
}

// eventually calls is until it reports true or patience has passed, and returns the last result.
func eventually(is func() (bool, string)) (saw string, ok bool) {
	for deadline := time.Now().Add(patience); ; time.Sleep(3 * time.Millisecond) {
		if ok, saw = is(); ok || time.Now().After(deadline) {
			return saw, ok
		}
	}
}

// ownPartition reserves a partition for one story.
func (s *site) ownPartition(t *testing.T) int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alone++
	if shared+s.alone > partitions {
		t.Fatalf("more than %d stories are alone: make more partitions", partitions-shared)
	}
	return shared + s.alone - 1
}
