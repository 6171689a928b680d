package operate

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer/bridge"
	"github.com/tidemark/tidemark/importer/compare"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
	"github.com/tidemark/tidemark/sqlsink"
)

func TestMain(m *testing.M) { testkit.LeakFree(m) }

// site is an embedded Kafka with Tidemark's topics, and nodes on it.
type site struct {
	t        *testing.T
	kafka    *kfake.Cluster
	brokers  []string
	topics   testkit.TopicSet
	group    string
	producer *kgo.Client
}

func newSite(t *testing.T, partitions int32) *site {
	k := testkit.FakeKafka(t)
	s := &site{t: t, kafka: k, brokers: k.ListenAddrs(), group: testkit.UniqueName(t, "g")}
	s.topics = testkit.Topics(t, s.brokers, partitions, 1)
	s.producer = testkit.Client(t, s.brokers, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	return s
}

func (s *site) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	s.t.Cleanup(cancel)
	return ctx
}

// names returns the names of the site's topics.
func (s *site) names() (names processor.Topics) {
	for i, name := range events.InputTopics {
		names.Inputs[i] = s.topics.Name(name)
	}
	names.Unread, names.Channels = s.topics.Name(events.TopicUnread), s.topics.Name(events.TopicChannels)
	names.Receipts, names.DeadLetters = s.topics.Name(events.TopicReceipts), s.topics.Name(events.TopicDeadLetters)
	return names
}

// node runs a node until the test ends, and returns its URL.
func (s *site) node(redisURL string, change func(*node.Config), roles ...config.Role) (url string) {
	s.t.Helper()
	url, _ = s.start(redisURL, change, roles...)
	return url
}

// start runs a node until the caller calls stop or the test ends, and returns its URL.
func (s *site) start(redisURL string, change func(*node.Config), roles ...config.Role) (url string, stop func()) {
	s.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	url = "http://" + ln.Addr().String()
	c := node.Config{
		Roles: roles, Kafka: config.Kafka{Brokers: s.brokers, Options: testkit.FastClientOpts()}, Redis: config.Redis{URL: redisURL},
		Group: s.group, DataDir: s.t.TempDir(), Settings: projections.DefaultSettings(), Memory: 256 << 20, Listener: ln, Advertise: url,
		Topics: s.names(), Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&c)
	}
	n, err := node.New(s.within(), c)
	if err != nil {
		ln.Close()
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("node: %v", err)
		}
	})
	s.t.Cleanup(stop)
	return url, stop
}

// until calls f until it succeeds. It fails the test with the last error if f never does.
func (s *site) until(f func() error) {
	s.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for err := f(); err != nil; err = f() {
		if time.Now().After(deadline) {
			s.t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ready waits for /readyz.
func (s *site) ready(url string) {
	s.t.Helper()
	s.until(func() error {
		req, err := http.NewRequestWithContext(s.within(), http.MethodGet, url+"/readyz", nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz: %s %s %w", res.Status, body, err)
		}
		return nil
	})
}

// scrape returns the node's current metrics.
func (s *site) scrape(url string) map[string]*dto.MetricFamily {
	s.t.Helper()
	families, err := Scrape(s.within(), url)
	if err != nil {
		s.t.Fatal(err)
	}
	return families
}

// series returns the node's current series, by name and labels.
func (s *site) series(url string) map[string]float64 {
	all := map[string]float64{}
	for _, f := range s.scrape(url) {
		maps.Copy(all, samples(f))
	}
	return all
}

// await waits until a node exports all of these metrics at once, some of which begin with an event,
// and returns all its metrics of that moment.
func (s *site) await(url string, names ...string) (got map[string]*dto.MetricFamily) {
	s.t.Helper()
	s.until(func() error {
		got = s.scrape(url)
		for _, name := range names {
			if got[name] == nil {
				return fmt.Errorf("%s has no %s", url, name)
			}
		}
		return nil
	})
	return got
}

// serve serves metrics, and returns the address that Scrape takes.
func serve(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/metrics", h)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// send writes an event as JSON to an input.
func (s *site) send(topic, channel, event string, at time.Time) {
	s.t.Helper()
	r := &kgo.Record{Topic: s.topics.Name(topic), Key: []byte(channel), Value: []byte(event), Timestamp: at}
	if err := s.producer.ProduceSync(s.within(), r).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// verbMetrics returns the metrics that a verb exports, such as `tidemark bridge`.
func verbMetrics(t *testing.T, register func(prometheus.Registerer)) map[string]*dto.MetricFamily {
	t.Helper()
	r := obs.NewRegistry(obs.Build{})
	edge.New(edge.Config{Registerer: r}, "http", http.NotFoundHandler())
	register(r)
	list, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	families := map[string]*dto.MetricFamily{}
	for _, f := range list {
		families[f.GetName()] = f
	}
	return families
}

// export starts a process of every role on one group, makes each do some work, and reads the
// metrics that they export.
func export(t *testing.T) map[string]map[string]*dto.MetricFamily {
	t.Helper()
	s := newSite(t, 2)
	redisURL := "redis://" + testkit.Miniredis(t).Addr()
	bucket, err := snapshot.OpenBucket("file://" + filepath.ToSlash(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(filepath.Join(t.TempDir(), "audit.log"), io.Discard, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	full := func(c *node.Config) {
		c.Snapshots, c.SnapshotEvery = snapshot.New(bucket, snapshot.Options{}), 100*time.Millisecond
		c.Standbys, c.Audit, c.CheckChannels = 1, log, 10
		c.Traces.Endpoint = "http://127.0.0.1:1" // nobody listens there
	}
	first := s.node(redisURL, full, config.RoleProcessor, config.RoleCache, config.RoleQuery, config.RoleGateway)
	s.ready(first)
	s.node(redisURL, func(c *node.Config) { c.Standbys = 1 }, config.RoleProcessor, config.RoleQuery)
	cacheURL := s.node(redisURL, nil, config.RoleCache)
	// A database that does not answer is enough; only the lag of each partition is missing then.
	database, err := sqlsink.ParseAddress("postgres://tidemark@127.0.0.1:1/none", "")
	if err != nil {
		t.Fatal(err)
	}
	sqlURL := s.node(redisURL, func(c *node.Config) { c.SQL = database }, config.RoleSQL)
	gatewayURL := s.node(redisURL, func(c *node.Config) { c.Memory = 0 }, config.RoleQuery, config.RoleGateway)
	for i := range 8 { // channels in both partitions
		channel := fmt.Sprintf("c%d", i)
		s.send(events.TopicMessages, channel, fmt.Sprintf(`{"channel_id":%q,"members_joined":{"user_ids":["ann"]}}`, channel), time.Now())
	}
	node := s.await(first, "tidemark_processor_snapshot_age_seconds", "tidemark_processor_standby_lag_records", "tidemark_cache_lag_records",
		"tidemark_processor_lag_seconds", "tidemark_processor_store_bytes")
	return map[string]map[string]*dto.MetricFamily{
		"node": node, "cache": s.await(cacheURL, "tidemark_cache_lag_records"), "sql": s.scrape(sqlURL), "gateway": s.scrape(gatewayURL),
		"bridge":  verbMetrics(t, func(r prometheus.Registerer) { bridge.New(bridge.Config{Metrics: r}) }),
		"compare": verbMetrics(t, func(r prometheus.Registerer) { compare.NewMetrics(r) }),
	}
}
