package operate

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/recordbatch"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/sqlsink"
)

// A Redis that has no memory for what it is filled with stays incomplete.
func TestARedisWithoutMemoryFiresItsAlerts(t *testing.T) {
	testkit.Program(t, "promtool")
	s := newSite(t, 1)
	server := testkit.Redis(t)
	options, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	admin := redis.NewClient(options)
	defer admin.Close()
	limit := func(bytes string) {
		t.Helper()
		if err := admin.ConfigSet(s.within(), "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	url := s.node(server.URL, nil, config.RoleProcessor, config.RoleCache, config.RoleQuery)
	s.send(events.TopicMessages, "team", `{"channel_id":"team","members_joined":{"user_ids":["ann","bob"]}}`, time.Now())
	s.await(url, "tidemark_cache_complete", "tidemark_processor_ready")
	s.reaches(url, "tidemark_processor_ready{}")
	before := s.series(url)
	after := s.awaitChange(url, before, `tidemark_redis_errors_total{role="cache"}`)
	s.fires(before, after, "TidemarkCacheIncomplete", "TidemarkRedisErrors")

	limit("0") // none
	s.reaches(url, "tidemark_cache_complete{}")
	all := s.series(url)
	s.fires(all, all)
}

// A database that takes connections and does not answer leaves the tables incomplete.
func TestADatabaseThatDoesNotAnswerFiresItsAlert(t *testing.T) {
	testkit.Program(t, "promtool")
	s := newSite(t, 1)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	address, err := sqlsink.ParseAddress("postgres://tidemark@"+silent.Addr().String()+"/none", "")
	if err != nil {
		t.Fatal(err)
	}
	url := s.node("", func(c *node.Config) { c.SQL = address }, config.RoleSQL)
	s.await(url, "tidemark_sql_complete")
	before := s.series(url)
	s.fires(before, before, "TidemarkSQLBehind")
}

// While a transaction locks the tables, the age of what waits for them grows with the time, so that
// the alert fires after 300 s. Once it is over, all is written.
func TestLockedTablesGrowOld(t *testing.T) {
	testkit.Program(t, "promtool")
	s := newSite(t, 1)
	dsn := testkit.Postgres(t)
	address, err := sqlsink.ParseAddress(dsn, "")
	if err != nil {
		t.Fatal(err)
	}
	url := s.node("", func(c *node.Config) {
		c.SQL, c.SQLFlush = address, sqlsink.Flush{Every: 20 * time.Millisecond, Rows: 1000}
	}, config.RoleProcessor, config.RoleQuery, config.RoleSQL)
	s.ready(url)
	s.send(events.TopicMessages, "team", `{"channel_id":"team","members_joined":{"user_ids":["ann","bob"]}}`, time.Now())
	s.until(func() error {
		if now := s.series(url); now["tidemark_sql_complete{}"] != 1 || now[`tidemark_sql_records_total{result="written"}`] == 0 {
			return fmt.Errorf("the tables are not complete")
		}
		return nil
	})
	before := s.series(url)
	conn, err := pgx.Connect(s.within(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(s.within()) }() // so it ends the transaction
	if _, err := conn.Exec(s.within(), "BEGIN; LOCK TABLE tidemark.inbox", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	s.send(events.TopicMessages, "team", `{"channel_id":"team","message_posted":{"message_id":"m1","sender_id":"ann"}}`, time.Now())
	begun := time.Now()
	during := s.grown(url, before, "tidemark_sql_lag_seconds{}", 3)
	if took := time.Since(begun); took < 3*time.Second {
		t.Errorf("the oldest row is 3 s old after %v", took)
	}
	s.fires(before, during) // it is no age to call somebody for
	if _, err := conn.Exec(s.within(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	s.until(func() error {
		if lag := s.series(url)["tidemark_sql_lag_seconds{}"]; lag != 0 {
			return fmt.Errorf("the oldest row is still %v s old", lag)
		}
		return nil
	})
}

// The brokers lose a record that a node has counted, as after the election of a leader that does
// not have it, and another one is in its place. So the node's answers are not those of the log.
func TestALogThatChangesFiresItsAlert(t *testing.T) {
	if testing.Short() {
		t.Skip("a check takes ten seconds")
	}
	testkit.Program(t, "promtool")
	s := newSite(t, 1)
	log := changedLog{t: t, site: s, topic: s.topics.Name(events.TopicMessages)}
	log.id = s.kafka.TopicInfo(log.topic).TopicID
	s.kafka.ControlKey(int16(kmsg.Fetch), log.fetch)
	data := t.TempDir()
	url := s.node("", func(c *node.Config) { c.DataDir, c.CheckChannels = data, 600 }, config.RoleProcessor, config.RoleQuery)
	s.ready(url)
	joined := `{"channel_id":"team","members_joined":{"user_ids":["ann","bob"]}}`
	s.send(events.TopicMessages, "team", joined, time.Now())
	before := s.series(url)
	s.until(func() error {
		if copies, err := filepath.Glob(filepath.Join(data, "recheck-*", "*")); len(copies) == 0 {
			return fmt.Errorf("no check has begun: %w", err)
		}
		return nil
	})
	time.Sleep(time.Second) // the copy is made
	s.fires(before, s.series(url))
	s.send(events.TopicMessages, "team", `{"channel_id":"team","message_posted":{"message_id":"m1","sender_id":"ann"}}`, time.Now())
	s.awaitChange(url, before, `tidemark_processor_events_total{kind="message_posted"`)
	log.is(joined, `{"channel_id":"team","message_posted":{"message_id":"m2","sender_id":"bob"}}`)
	after := s.awaitChange(url, before, `tidemark_badge_checked_total{outcome="different"}`)
	s.fires(before, after, "TidemarkBadgeWrong")
}

// changedLog is the only partition of a topic, as it is after a loss.
type changedLog struct {
	t     *testing.T
	site  *site
	topic string
	id    [16]byte

	mu      sync.Mutex
	records []*kgo.Record // nil: nothing is lost yet
}

// is loses the records, and has these instead.
func (l *changedLog) is(values ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, value := range values {
		l.records = append(l.records, &kgo.Record{Offset: int64(i), Key: []byte("team"), Value: []byte(value), Timestamp: time.Now()})
	}
}

// fetch answers a request for records of the partition that are lost.
func (l *changedLog) fetch(r kmsg.Request) (kmsg.Response, error, bool) { //nolint:revive // the order of kfake
	l.site.kafka.KeepControl()
	l.mu.Lock()
	defer l.mu.Unlock()
	req := r.(*kmsg.FetchRequest) //nolint:forcetypeassert // of this key
	i := slices.IndexFunc(req.Topics, func(t kmsg.FetchRequestTopic) bool { return t.Topic == l.topic || t.TopicID == l.id })
	if i < 0 || len(req.Topics[i].Partitions) != 1 || req.Topics[i].Partitions[0].FetchOffset >= int64(len(l.records)) {
		return nil, nil, false
	}
	resp := req.ResponseKind().(*kmsg.FetchResponse) //nolint:forcetypeassert // it is that of a FetchRequest
	topic, p := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
	topic.Topic, topic.TopicID = req.Topics[i].Topic, req.Topics[i].TopicID
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = int64(len(l.records)), int64(len(l.records)), 0
	p.RecordBatches = recordbatch.Encode(l.t, kgo.NoCompression(), l.records[req.Topics[i].Partitions[0].FetchOffset:])
	topic.Partitions = append(topic.Partitions, p)
	resp.Topics = append(resp.Topics, topic)
	return resp, nil, true
}
