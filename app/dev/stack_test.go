package dev_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/events"
)

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// start runs a stack until the test ends, and waits until it is ready.
func start(t *testing.T, c dev.Config) *dev.Stack {
	t.Helper()
	ctx := within(t)
	s, err := dev.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := s.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// call makes one JSON call and returns the status and the answer.
func call(t *testing.T, s *dev.Stack, method string, request string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), http.MethodPost, s.URL+"/"+method, strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%s answers %d %q: %v", method, res.StatusCode, body, err)
	}
	return res.StatusCode, answer
}

const (
	getUnread = "tidemark.query.v1.QueryService/GetUnread"
	publish   = "tidemark.ingest.v1.IngestService/Publish"
)

// unread returns a user's unread count in channel general, with after.
func unread(t *testing.T, s *dev.Stack, user string, after []string) float64 {
	t.Helper()
	tokens, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	code, answer := call(t, s, getUnread, fmt.Sprintf(`{"user_id":%q,"channel_id":"general","after":%s}`, user, tokens))
	if code != http.StatusOK {
		t.Fatalf("GetUnread: %d %v", code, answer)
	}
	n, ok := answer["unread"].(float64)
	if !ok {
		t.Fatalf("GetUnread: %v", answer)
	}
	return n
}

func post(id string) string {
	return `{"channel_id":"general","message_posted":{"message_id":"` + id + `","sender_id":"bob","preview":"hi"}}`
}

// publishAll publishes events by HTTP and returns their tokens.
func publishAll(t *testing.T, s *dev.Stack, list ...string) []string {
	t.Helper()
	code, answer := call(t, s, publish, `{"events":[`+strings.Join(list, ",")+`]}`)
	if code != http.StatusOK {
		t.Fatalf("Publish: %d %v", code, answer)
	}
	var tokens []string
	for _, token := range answer["after"].([]any) {
		tokens = append(tokens, token.(string))
	}
	return tokens
}

func TestEventsBecomeNumbersAndSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dev.Config{DataDir: dir})
	// By HTTP.
	after := publishAll(t, s,
		`{"message":{"channel_id":"general","members_joined":{"user_ids":["ann","bob"]}}}`,
		`{"message":`+post("m1")+`}`, `{"message":`+post("m2")+`}`)
	if got := unread(t, s, "ann", after); got != 2 {
		t.Errorf("ann has %v unread after two messages", got)
	}
	// By a Kafka client, in JSON, with the partitioner that every Kafka client has by default.
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Broker), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := cl.ProduceSync(within(t), &kgo.Record{Topic: events.TopicReads, Key: []byte("general"),
		Value: []byte(`{"channel_id":"general","user_id":"ann","read_up_to":{"message_id":"m1"}}`)}).First()
	if err != nil {
		t.Fatal(err)
	}
	cl.Close()
	after = append(after, events.RecordID{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String())
	if got := unread(t, s, "ann", after); got != 1 {
		t.Errorf("ann has %v unread after reading one of two", got)
	}
	awaitInbox(t, s, "ann", "general", 1)

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	again := start(t, dev.Config{DataDir: dir})
	if got := unread(t, again, "ann", after); got != 1 {
		t.Errorf("ann has %v unread after a restart", got)
	}
	awaitInbox(t, again, "ann", "general", 1) // the embedded Redis has lost everything and is filled again
	after = publishAll(t, again, `{"message":`+post("m3")+`}`, `{"message":`+post("m2")+`}`)
	if got := unread(t, again, "ann", after); got != 2 {
		t.Errorf("ann has %v unread after one more message and a duplicate", got)
	}
}

// awaitInbox waits until Redis has a count. The cache follows the fold, and only Redis shows when
// it has caught up.
func awaitInbox(t *testing.T, s *dev.Stack, user, channel string, want int) {
	t.Helper()
	o, err := redis.ParseURL(s.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	ctx := within(t)
	for {
		v, err := rdb.HGet(ctx, "inbox:"+user, channel).Result()
		var entry struct{ Unread int }
		if err == nil {
			if err := json.Unmarshal([]byte(v), &entry); err != nil {
				t.Fatalf("inbox entry %q: %v", v, err)
			}
			if entry.Unread == want {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("inbox:%s has %q (%v) for %s, want unread %d", user, v, err, channel, want)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestTheDemoIsAlive(t *testing.T) {
	s := start(t, dev.Config{Demo: true, DemoSeed: 3})
	ctx := within(t)
	for {
		code, answer := call(t, s, "tidemark.query.v1.QueryService/GetInbox", `{"user_id":"ann"}`)
		if channels, _ := answer["channels"].([]any); code == http.StatusOK && len(channels) >= 6 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("ann's inbox: %d %v", code, answer)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestEndpointsAndPage(t *testing.T) {
	s := start(t, dev.Config{})
	for path, want := range map[string]string{
		"/": "/ui/app.js", "/ui/api/about": s.Broker, "/healthz": "ok", "/readyz": "partition 3 live", "/metrics": "tidemark_build_info",
	} {
		res, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s: %d, %v; want %q in it:\n%.300s", path, res.StatusCode, err, want, body)
		}
	}
}

func TestATemporaryDirectoryIsRemoved(t *testing.T) {
	s := start(t, dev.Config{})
	if s.Kept {
		t.Error("a stack without a data directory keeps one")
	}
	if _, err := os.Stat(filepath.Join(s.DataDir, "kafka")); err != nil {
		t.Errorf("the broker's log: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.DataDir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", s.DataDir, err)
	}
}

func TestRefusalsNameTheFlag(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dev.Config{DataDir: dir})
	taken := strings.TrimPrefix(s.URL, "http://")
	for _, c := range []struct {
		name string
		with dev.Config
		want []string
	}{
		{"page", dev.Config{Listen: taken}, []string{taken, "--listen"}},
		{"kafka", dev.Config{KafkaListen: taken}, []string{taken, "--kafka-listen"}},
		{"redis", dev.Config{RedisListen: taken}, []string{taken, "--redis-listen"}},
		{"directory", dev.Config{DataDir: dir}, []string{dir, "--data-dir"}},
		{"address", dev.Config{Listen: "256.0.0.1:1"}, []string{"256.0.0.1:1", "--listen"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			other, err := dev.Start(within(t), c.with)
			if err == nil {
				t.Fatal("it starts", other.Close())
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v; want %q in it", err, w)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

// Ports that may move do, all three at once, and the stack works there; the others are refused as
// before.
func TestTakenPortsMove(t *testing.T) {
	var taken [3]string
	for i := range taken {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		taken[i] = ln.Addr().String()
	}
	c := dev.Config{Listen: taken[0], KafkaListen: taken[1], RedisListen: taken[2], Movable: map[string]bool{"--listen": true, "--kafka-listen": true}}
	if s, err := dev.Start(within(t), c); err == nil || !strings.Contains(err.Error(), "--redis-listen") || !strings.Contains(err.Error(), taken[2]) {
		t.Fatal("it starts, or says something else", s, err)
	}
	c.Movable["--redis-listen"] = true
	s := start(t, c)
	for i, addr := range []string{strings.TrimPrefix(s.URL, "http://"), s.Broker, strings.TrimPrefix(s.RedisURL, "redis://")} {
		if addr == taken[i] || !strings.HasPrefix(addr, "127.0.0.1:") {
			t.Errorf("%s instead of %s", addr, taken[i])
		}
	}
	after := publishAll(t, s, `{"message":{"channel_id":"general","members_joined":{"user_ids":["ann","bob"]}}}`, `{"message":`+post("m1")+`}`)
	if got := unread(t, s, "ann", after); got != 1 {
		t.Errorf("ann has %v unread", got)
	}
	awaitInbox(t, s, "ann", "general", 1)
}

func TestAnotherPartitionCountIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := start(t, dev.Config{DataDir: dir, Partitions: 2}).Close(); err != nil {
		t.Fatal(err)
	}
	s, err := dev.Start(within(t), dev.Config{DataDir: dir, Partitions: 3})
	if err == nil {
		t.Fatal("it starts with 3 partitions on a directory with 2", s.Close())
	}
	if !strings.Contains(err.Error(), "--partitions 2") {
		t.Errorf("%v", err)
	}
}
