package everyone

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

const partitions = 2

// site is a node with all roles. It uses a real Redis, because the embedded one has no functions.
type site struct {
	t        *testing.T
	url      string
	set      testkit.TopicSet
	producer *kgo.Client
	rdb      *redis.Client
	reader   *cache.Reader
	query    queryv1connect.QueryServiceClient
}

// newSite starts a site that ends with the test. It lists threads permanently, so that the log time
// of a reader does not matter.
func newSite(t *testing.T, fanoutLimit uint32) *site {
	t.Helper()
	brokers := testkit.FakeKafka(t).ListenAddrs()
	env := testkit.Env{Brokers: brokers, RedisURL: testkit.Redis(t).URL}
	s := &site{t: t, set: env.Topics(t, partitions)}
	o, err := redis.ParseURL(env.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	s.rdb = redis.NewClient(o)
	t.Cleanup(func() { _ = s.rdb.Close() })
	s.reader = cache.NewReader(s.rdb)
	s.producer = testkit.Client(t, brokers)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + ln.Addr().String()
	settings := projections.DefaultSettings()
	settings.FanoutLimit = fanoutLimit
	const unlimited = 1e6
	c := node.Config{
		Roles: config.Roles{config.RoleProcessor, config.RoleCache, config.RoleQuery, config.RoleGateway},
		Kafka: config.Kafka{Brokers: brokers, Options: testkit.FastClientOpts()}, Redis: config.Redis{URL: env.RedisURL}, RedisValues: "packed",
		Group: testkit.UniqueName(t, "everyone"), DataDir: filepath.Join(t.TempDir(), "state"), Settings: settings, ThreadsAlways: true,
		Advertise: s.url, Listener: ln, Logger: slog.New(slog.DiscardHandler),
		Gateway: gateway.Config{Limits: gateway.Limits{HandshakesPerSecond: unlimited, HandshakesBurst: unlimited}},
	}
	for i, name := range events.InputTopics {
		c.Topics.Inputs[i] = s.set.Name(name)
	}
	c.Topics.Unread, c.Topics.Channels = s.set.Name(events.TopicUnread), s.set.Name(events.TopicChannels)
	c.Topics.Receipts, c.Topics.DeadLetters = s.set.Name(events.TopicReceipts), s.set.Name(events.TopicDeadLetters)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	n, err := node.New(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	runCtx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(runCtx) }()
	idle := &http.Transport{}
	t.Cleanup(func() {
		idle.CloseIdleConnections()
		end()
		if err := <-done; err != nil {
			t.Errorf("the node ended with: %v", err)
		}
	})
	s.query = queryv1connect.NewQueryServiceClient(&http.Client{Transport: idle}, s.url)
	testkit.Await(t, "the node is ready, and Redis filled", func() bool {
		return n.Ready().Ready && s.rdb.Exists(ctx, "tidemark:epoch").Val() > 0
	})
	return s
}

// write writes records, and returns the tokens of the last ones.
func (s *site) write(list []*kgo.Record) []string {
	s.t.Helper()
	var tokens []string
	for _, r := range s.producer.ProduceSync(s.t.Context(), list...) {
		if r.Err != nil {
			s.t.Fatal(r.Err)
		}
		tokens = append(tokens, events.RecordID{Topic: r.Record.Topic, Partition: r.Record.Partition, Offset: r.Record.Offset}.String())
	}
	return events.LatestTokens(tokens)
}

// topic returns the name of an input.
func (s *site) topic(in events.Input) string { return s.set.Name(events.InputTopics[in]) }

// escaped returns an id as it appears in a key of Redis.
func escaped(id string) string { return strings.NewReplacer("%", "%25", ":", "%3A").Replace(id) }
