package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// callInbox asks for an inbox in JSON, and returns the status and the answer.
func callInbox(ctx context.Context, t *testing.T, url, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/tidemark.query.v1.QueryService/GetInbox", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error() // ctx ended
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(text)
}

// TestFlagsOfTheDoorsWithKeys: what the flags that bound calls, connections and tokens say reaches
// the node.
func TestFlagsOfTheDoorsWithKeys(t *testing.T) {
	brokers := strings.Join(testkit.FakeKafka(t).ListenAddrs(), ",")
	ok(t, "", "topics", "create", "--brokers", brokers, "--partitions", "2", "--replication-factor", "1")
	revoked := filepath.Join(t.TempDir(), "revoked")
	testkit.Replace(t, revoked, []byte("jti:nobody's\n"))
	_, errout, stop := background(t, "run", "--roles", "processor,query", "--brokers", brokers, "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0",
		"--memory", "256MiB", "--auth-keys", authtest.KeyFile(t), "--auth-issuer", authtest.Issuer, "--auth-revoked", revoked,
		"--query-concurrency", "1", "--address-query-concurrency", "2", "--max-http-connections", "20")
	errout.Await(t, "node started")
	addr := listenAt.FindStringSubmatch(errout.String())[1]
	url := "http://" + addr
	awaitReady(t, url)

	tokens := map[string]string{}
	for _, user := range []string{"ann", "bob", "cleo"} {
		tokens[user] = authtest.Token(t, user, time.Hour)
	}
	inbox := func(user string) (int, string) {
		return callInbox(t.Context(), t, url, tokens[user], `{"userId":"`+user+`"}`)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var held sync.WaitGroup
	hold := func(user string) { // a call that waits for a record that never comes
		held.Go(func() {
			for ctx.Err() == nil {
				callInbox(ctx, t, url, tokens[user], `{"userId":"`+user+`","after":["chat.reads/0/999999"]}`)
			}
		})
	}
	refuses := func(what, user, says string) {
		t.Helper()
		until(t, what, func() bool {
			status, text := inbox(user)
			return status == http.StatusTooManyRequests && strings.Contains(text, says)
		})
	}
	hold("ann")
	refuses("--query-concurrency refuses ann's second call", "ann", "this user has as many calls under way as one may have")
	if status, text := inbox("bob"); status != http.StatusOK {
		t.Errorf("bob, one call of the address: %d %s", status, text)
	}
	hold("bob")
	refuses("--address-query-concurrency refuses the address's third call", "cleo", "this address has as many calls under way as one may have")
	cancel()
	held.Wait()

	testkit.Replace(t, revoked, []byte("sub:ann\n"))
	until(t, "--auth-revoked ends ann's token", func() bool { status, _ := inbox("ann"); return status == http.StatusUnauthorized })
	until(t, "bob's holds", func() bool { status, _ := inbox("bob"); return status == http.StatusOK })

	for range 40 { // half a request each
		c, err := net.Dial("tcp", addr) //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: 127") // it may be closed already
	}
	until(t, "--max-http-connections closes some of 40", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+authtest.Service(t))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false // its own connection had to go
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return err == nil && regexp.MustCompile(`(?m)^tidemark_http_connections_evicted_total\{listener="http"\} [1-9]`).Match(text)
	})
	if code := stop(); code != exitDone {
		t.Errorf("exit %d\n%s", code, errout)
	}
}

// TestFlagsOfTheDoorsWithoutKeys: the same of the flags for host names, of the rate of an address
// and of the age of queued messages, on a node that takes its memory from the machine and says so.
func TestFlagsOfTheDoorsWithoutKeys(t *testing.T) {
	brokers := testkit.FakeKafka(t).ListenAddrs()
	ok(t, "", "topics", "create", "--brokers", strings.Join(brokers, ","), "--partitions", "2", "--replication-factor", "1")
	_, errout, stop := background(t, "run", "--roles", "processor,cache,query,gateway", "--brokers", strings.Join(brokers, ","), "--redis", "redis://"+testkit.Miniredis(t).Addr(),
		"--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--hosts", "tidemark.internal.example.com", "--address-query-rate", "1", "--queue-within", "1h")
	errout.Await(t, "node started")
	url := "http://" + listenAt.FindStringSubmatch(errout.String())[1]
	awaitReady(t, url)

	limit, _ := config.MemoryByDefault(os.DirFS("/"))
	if text := errout.String(); !strings.Contains(text, `msg="memory limit" limit=`+limit.String()+` why="`) || !strings.Contains(text, "--memory is not set") {
		t.Errorf("the log does not say by which limit the node lives, and why:\n%s", text)
	}

	for host, want := range map[string]int{"tidemark.internal.example.com": http.StatusOK, "evil.example": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("--hosts: %s gets %s, want %d", host, res.Status, want)
		}
	}

	// Of two messages, older than the default allows, the younger is queued for bob.
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, r := range []struct {
		age   time.Duration
		value string
	}{
		{0, `{"channel_id":"general","members_joined":{"user_ids":["ann","bob"]}}`},
		{2 * time.Hour, `{"channel_id":"general","message_posted":{"message_id":"m1","sender_id":"ann"}}`},
		{30 * time.Minute, `{"channel_id":"general","message_posted":{"message_id":"m2","sender_id":"ann"}}`},
	} {
		record := &kgo.Record{Topic: events.TopicMessages, Key: []byte("general"), Value: []byte(r.value), Timestamp: time.Now().Add(-r.age)}
		if err := cl.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "--queue-within tells the two messages apart", func() bool {
		res, err := http.Get(url + "/metrics") //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "\ntidemark_gateway_queued_total 1\n") && strings.Contains(string(text), "\ntidemark_gateway_queued_late_total 1\n")
	})

	// Twenty calls at once are more than two at once and one a second.
	until(t, "--address-query-rate refuses", func() bool {
		var calls sync.WaitGroup
		refused := make(chan bool, 20)
		for range cap(refused) {
			calls.Go(func() {
				status, text := callInbox(t.Context(), t, url, "", `{"userId":"ann"}`)
				refused <- status == http.StatusTooManyRequests && strings.Contains(text, "this address makes too many calls")
			})
		}
		calls.Wait()
		close(refused)
		for is := range refused {
			if is {
				return true
			}
		}
		return false
	})
	if code := stop(); code != exitDone {
		t.Errorf("exit %d\n%s", code, errout)
	}
}
