package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// running is a node of a test.
type running struct {
	*node.Node
	url  string
	stop func() error // in order; again is the same
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// options returns the configuration of a node on the test's own topics.
func options(t *testing.T, env testkit.Env, topics testkit.TopicSet, group string, roles ...config.Role) node.Config {
	t.Helper()
	c := node.Config{
		Roles: roles, Kafka: config.Kafka{Brokers: env.Brokers, Options: testkit.FastClientOpts()},
		Redis: config.Redis{URL: env.RedisURL}, Group: group, DataDir: t.TempDir(), Settings: projections.DefaultSettings(),
		Memory: 256 << 20, Logger: slog.New(slog.DiscardHandler),
	}
	for i, name := range events.InputTopics {
		c.Topics.Inputs[i] = topics.Name(name)
	}
	c.Topics.Unread, c.Topics.Channels = topics.Name(events.TopicUnread), topics.Name(events.TopicChannels)
	c.Topics.Receipts, c.Topics.DeadLetters = topics.Name(events.TopicReceipts), topics.Name(events.TopicDeadLetters)
	return c
}

// run runs a node until the test ends.
func run(t *testing.T, c node.Config) *running {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme := "http://"
	if c.TLS != nil {
		scheme = "https://"
	}
	r := &running{url: scheme + ln.Addr().String()}
	c.Listener, c.Advertise = ln, r.url
	if r.Node, err = node.New(within(t), c); err != nil {
		ln.Close()
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = r.Run(ctx)
	}()
	r.stop = func() error {
		cancel()
		<-done
		return err
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("node: %v", err)
		}
	})
	return r
}

// until calls f until it succeeds, or fails the test with the last error.
func until(t *testing.T, f func() error) {
	t.Helper()
	ctx := within(t)
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// awaitReady waits until /readyz has this many live partitions.
func awaitReady(t *testing.T, r *running, partitions int) {
	t.Helper()
	until(t, func() error {
		code, body := get(t, r.url+"/readyz")
		if code != http.StatusOK || strings.Count(body, " live") != partitions {
			return fmt.Errorf("/readyz: %d %s", code, body)
		}
		return nil
	})
}

func post(t *testing.T, url, body string, answer any) error {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %d %s", url, res.StatusCode, b)
	}
	return json.Unmarshal(b, answer)
}

func publish(t *testing.T, r *running, list string) []string {
	t.Helper()
	var answer struct{ After []string }
	if err := post(t, r.url+"/tidemark.ingest.v1.IngestService/Publish", `{"events":[`+list+`]}`, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.After
}

func unread(t *testing.T, r *running, user string, after []string) (int, error) {
	t.Helper()
	tokens, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Unread int }
	err = post(t, r.url+"/tidemark.query.v1.QueryService/GetUnread",
		fmt.Sprintf(`{"user_id":%q,"channel_id":"general","after":%s}`, user, tokens), &answer)
	return answer.Unread, err
}

func wantUnread(t *testing.T, r *running, user string, after []string, want int) {
	t.Helper()
	until(t, func() error {
		got, err := unread(t, r, user, after)
		if err != nil { // a partition is moving
			return err
		}
		if got != want {
			t.Fatalf("%s has %d unread, want %d", user, got, want)
		}
		return nil
	})
}

const (
	joined = `{"message":{"channel_id":"general","members_joined":{"user_ids":["ann","bob"]}}}`
	first  = `{"message":{"channel_id":"general","message_posted":{"message_id":"m1","sender_id":"bob"}}}`
	second = `{"message":{"channel_id":"general","message_posted":{"message_id":"m2","sender_id":"bob"}}}`
	third  = `{"message":{"channel_id":"general","message_posted":{"message_id":"m3","sender_id":"bob"}}}`
	fourth = `{"message":{"channel_id":"general","message_posted":{"message_id":"m4","sender_id":"bob"}}}`
	seen   = `{"read":{"channel_id":"general","user_id":"ann","read_up_to":{"message_id":"m1"}}}`
)

func all() []config.Role {
	return []config.Role{config.RoleProcessor, config.RoleCache, config.RoleQuery}
}

func TestTheWholePath(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		topics := env.Topics(t, 4)
		c := options(t, env, topics, testkit.UniqueName(t, "node"), all()...)
		n := run(t, c)
		awaitReady(t, n, 4)
		after := publish(t, n, strings.Join([]string{joined, first, second, seen}, ","))
		wantUnread(t, n, "ann", after, 1)
		wantUnread(t, n, "bob", after, 0)
		wantInbox(t, env.RedisURL, "ann", 1)
		if code, body := get(t, n.url+"/metrics"); code != http.StatusOK ||
			!strings.Contains(body, `kind="message_posted",outcome="applied"`) || !strings.Contains(body, "tidemark_query_calls_total") {
			t.Errorf("/metrics: %d, without what was counted", code)
		}
		if code, _ := get(t, n.url+"/"); code != http.StatusNotFound {
			t.Errorf("a page that nobody set: %d", code)
		}

		// The node stops cleanly and restarts with its data.
		if err := n.stop(); err != nil {
			t.Fatal(err)
		}
		n = run(t, c)
		awaitReady(t, n, 4)
		wantUnread(t, n, "ann", after, 1)
		after = publish(t, n, first+`,{"message":{"channel_id":"general","message_deleted":{"message_id":"m2"}}}`)
		wantUnread(t, n, "ann", after, 0)
		wantInbox(t, env.RedisURL, "ann", 0)
	})
}

// wantInbox waits until Redis has a count, because the cache follows the fold.
func wantInbox(t *testing.T, url, user string, want int) {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	until(t, func() error {
		v, err := rdb.HGet(within(t), "inbox:"+user, "general").Result()
		if err != nil {
			return err
		}
		var entry struct{ Unread int }
		if err := json.Unmarshal([]byte(v), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Unread != want {
			return fmt.Errorf("inbox:%s says %d, want %d", user, entry.Unread, want)
		}
		return nil
	})
}

// A node with only the role query owns no partition: it finds the owners through the group and
// forwards to them. Nodes with the role processor alone answer it, and accept no events.
func TestANodeThatOnlyAnswers(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		topics, group := env.Topics(t, 2), testkit.UniqueName(t, "node")
		owner := run(t, options(t, env, topics, group, config.RoleProcessor))
		front := run(t, options(t, env, topics, group, config.RoleQuery))
		awaitReady(t, owner, 2)
		if r := front.Ready(); !r.Ready {
			t.Errorf("a node without partitions is not ready: %v", r.Lines)
		}
		after := publish(t, front, joined+","+first)
		wantUnread(t, front, "ann", after, 1)
		var inbox struct{ Totals struct{ Unread int } }
		if err := post(t, front.url+"/tidemark.query.v1.QueryService/GetInbox", `{"user_id":"ann"}`, &inbox); err != nil ||
			inbox.Totals.Unread != 1 {
			t.Errorf("inbox: %+v, %v", inbox, err)
		}
		if err := post(t, owner.url+"/tidemark.ingest.v1.IngestService/Publish", `{"events":[]}`, nil); err == nil ||
			!strings.Contains(err.Error(), "there is no method") {
			t.Errorf("events for a node without the role query: %v", err)
		}
	})
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics := env.Topics(t, 2)
	good := func(t *testing.T) node.Config { return options(t, env, topics, "g", all()...) }
	for _, c := range []struct {
		name  string
		spoil func(*node.Config)
		want  string
	}{
		{"topics", func(c *node.Config) { c.Topics = processor.Topics{} }, "tidemark topics create"},
		{"memory", func(c *node.Config) { c.Memory = 1 << 20 }, "128MiB"},
		{"redis", func(c *node.Config) { c.Redis.URL = "127.0.0.1" }, "redis://127.0.0.1:6379"},
		{"brokers", func(c *node.Config) { c.Kafka.Brokers = nil }, "--brokers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := good(t)
			c.spoil(&o)
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			o.Listener = ln
			if _, err := node.New(within(t), o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q in it", err, c.want)
			}
		})
	}
}

// A node without its Redis stays in service.
func TestWithoutRedisANodeAnswers(t *testing.T) {
	mini := testkit.Miniredis(t)
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + mini.Addr()}
	mini.Close()
	n := run(t, options(t, env, env.Topics(t, 2), "g", all()...))
	awaitReady(t, n, 2)
	wantUnread(t, n, "ann", publish(t, n, joined+","+first), 1)
	until(t, func() error {
		if _, body := get(t, n.url+"/readyz"); !strings.Contains(body, "cache") {
			return fmt.Errorf("/readyz does not tell of the cache: %s", body)
		}
		return nil
	})
}

// When a part fails the node stops and names the part.
func TestAFailedPartStopsTheNode(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	o := options(t, env, env.Topics(t, 1), "g", all()...)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Listener = ln
	n, err := node.New(within(t), o)
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if err := n.Run(within(t)); err == nil || !strings.Contains(err.Error(), "http") {
		t.Errorf("with a closed port: %v", err)
	}
	if r := n.Ready(); r.Ready {
		t.Error("a stopped node says it is ready")
	}
}
