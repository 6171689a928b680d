package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/cluster"
	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/guard/httpguard"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
)

// buggy implements everything that the page calls. It panics once, at one place.
type buggy struct {
	idle
	switchable
	at atomic.Pointer[string]
}

func (b *buggy) plant(where string) { b.at.Store(&where) }

func (b *buggy) reach(where string) {
	if at := b.at.Load(); at != nil && *at == where {
		b.at.Store(nil)
		panic("planted at " + where)
	}
}

func (b *buggy) Status() []processor.PartitionStatus { b.reach("status"); return nil }
func (b *buggy) Set(d DemoState)                     { b.reach("set"); b.switchable.Set(d) }
func (b *buggy) State() DemoState                    { b.reach("state"); return b.switchable.State() }
func (b *buggy) Gather() ([]*dto.MetricFamily, error) {
	b.reach("metrics")
	return prometheus.NewRegistry().Gather()
}

func (b *buggy) config(log *slog.Logger) Config {
	return Config{
		Node: b, Demo: b, Metrics: b, Logger: log,
		Ready:     func() (bool, []string) { b.reach("ready"); return true, nil },
		Cluster:   func(context.Context) cluster.Overview { b.reach("cluster"); return cluster.Overview{} },
		Snapshots: func(context.Context) ([]Snapshot, error) { b.reach("snapshots"); return nil, nil },
		Admin:     http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { b.reach("admin"); reply(w, "taken") }),
		Verify: func(context.Context, int32, func(float64)) (*rebuild.Result, error) {
			b.reach("verify")
			return &rebuild.Result{}, nil
		},
	}
}

// TestAPanicEndsOneCallOfThePage: a bug in any handler fails the call as internal, reveals nothing
// of itself, and leaves no lock behind: the same call then succeeds, and so does every other one.
// If the answer has begun, its connection ends, so that the answer does not look whole.
func TestAPanicEndsOneCallOfThePage(t *testing.T) {
	var log testkit.Output
	logger := slog.New(slog.NewTextHandler(&log, nil))
	b := &buggy{}
	u, err := New(b.config(logger))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(httpguard.Handler(logger, u))
	defer s.Close()
	call := func(method, path, body string) (int, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Client().Do(r)
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return res.StatusCode, string(text), err
	}
	calls := []struct{ method, path, body string }{
		{"GET", "/", ""}, {"GET", "/ui/api/about", ""}, {"GET", "/ui/api/people", ""}, {"GET", "/ui/api/search?q=nn", ""},
		{"GET", "/ui/api/history?channel_id=c", ""}, {"GET", "/ui/api/operators", ""}, {"GET", "/ui/api/series", ""},
		{"GET", "/ui/api/cluster", ""}, {"POST", "/ui/api/demo", "{}"}, {"POST", "/ui/api/verify", "{}"}, {"POST", "/ui/api/admin/snapshots", "{}"},
	}
	answers := func(after string) {
		t.Helper()
		for _, c := range calls {
			if status, text, err := call(c.method, c.path, c.body); status != http.StatusOK || err != nil {
				t.Errorf("after a bug at %s, %s %s: %d %q %v", after, c.method, c.path, status, text, err)
			}
		}
	}
	answers("nothing")
	// A message that is missing in a channel's list is a bug of the page itself, under its lock.
	broken := func(is bool) {
		u.feed.mu.Lock()
		defer u.feed.mu.Unlock()
		delete(u.feed.channels, "broken")
		if is {
			u.feed.channels["broken"] = &channelMessages{messages: []*Message{nil}, members: map[string]bool{}}
		}
	}
	for _, c := range []struct{ at, method, path, body string }{
		{"state", "GET", "/ui/api/about", ""},
		{"set", "POST", "/ui/api/demo", "{}"},
		{"status", "GET", "/ui/api/operators", ""},
		{"ready", "GET", "/ui/api/operators", ""},
		{"metrics", "GET", "/ui/api/operators", ""},
		{"snapshots", "GET", "/ui/api/operators", ""},
		{"cluster", "GET", "/ui/api/cluster", ""},
		{"admin", "POST", "/ui/api/admin/snapshots", "{}"},
		{"search", "GET", "/ui/api/search?q=nn", ""},
		{"history", "GET", "/ui/api/history?channel_id=broken", ""},
		{"verify", "POST", "/ui/api/verify", "{}"},
	} {
		before := len(log.String())
		b.plant(c.at)
		broken(c.at == "search" || c.at == "history")
		status, text, err := call(c.method, c.path, c.body)
		var refused struct{ Code, Message string }
		switch {
		case c.at == "verify": // its answer begins before the work
			if err == nil {
				t.Errorf("a bug at verify: the answer looks whole: %d %q", status, text)
			}
		case err != nil || status != http.StatusInternalServerError || json.Unmarshal([]byte(text), &refused) != nil ||
			refused.Code != "internal" || refused.Message != httpguard.Answer:
			t.Errorf("a bug at %s: %d %q %v", c.at, status, text, err)
		}
		if lines := log.String()[before:]; strings.Count(lines, "panic while answering") != 1 || !strings.Contains(lines, "app/ui") {
			t.Errorf("a bug at %s: the log has not where: %s", c.at, lines)
		}
		b.at.Store(nil)
		broken(false)
		answers(c.at)
	}
}

// TestAPanicOfTheFeedIsNotTheNodes: a bug while a message is taken in ends neither the page nor the
// node that runs it, and is not for ever: the page reads the messages again.
func TestAPanicOfTheFeedIsNotTheNodes(t *testing.T) {
	var log testkit.Output
	c := (&buggy{}).config(slog.New(slog.NewTextHandler(&log, nil)))
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs()}
	c.Kafka = config.Kafka{Brokers: env.Brokers, Options: testkit.FastClientOpts()}
	topic := env.Topics(t, 1).Name(events.TopicMessages)
	c.Topics.Inputs[events.Messages] = topic
	u, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	u.feed.channels = nil // it cannot take a channel in
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				ran <- fmt.Errorf("it panicked: %v", v)
			}
		}()
		ran <- u.Run(ctx)
	}()
	value := []byte(`{"channel_id":"c","members_joined":{"user_ids":["ann"]}}`)
	r := &kgo.Record{Topic: topic, Key: []byte("c"), Value: value}
	if err := testkit.Client(t, env.Brokers).ProduceSync(t.Context(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the log has the bug", func() bool {
		return len(ran) > 0 || strings.Contains(log.String(), "the page's messages panicked") && strings.Contains(log.String(), "timeline.go")
	})
	u.feed.mu.Lock()
	u.feed.channels = map[string]*channelMessages{}
	u.feed.mu.Unlock()
	testkit.Await(t, "the page has the member", func() bool { return len(ran) > 0 || len(u.feed.people()) == 1 })
	cancel()
	if err := <-ran; err != nil {
		t.Errorf("the page's part ended: %v", err)
	}
}
