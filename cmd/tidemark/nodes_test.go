package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// background runs a verb until the returned function is called, which gives the exit code and what
// it said.
func background(t *testing.T, args ...string) (out, errout *testkit.Output, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, errout = &testkit.Output{}, &testkit.Output{}
	code, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		code = execute(ctx, append([]string{"tidemark"}, args...), strings.NewReader(""), out, errout)
	}()
	stop = func() int {
		cancel()
		<-done
		return code
	}
	t.Cleanup(func() { stop() })
	return out, errout, stop
}

var (
	pageURL  = regexp.MustCompile(`page, queries, ingest +(http://\S+)`)
	kafkaAt  = regexp.MustCompile(`Kafka +(\S+) `)
	listenAt = regexp.MustCompile(`listen=(\S+)`)
)

// What the banner says to try can be tried, a page that another server of this machine serves gets
// its socket, and Ctrl-C leaves what --data-dir was given.
func TestDevPrintsWhatToTryAndStops(t *testing.T) {
	dir := t.TempDir()
	args := []string{"dev", "--listen", "127.0.0.1:0", "--kafka-listen", "127.0.0.1:0", "--redis-listen", "127.0.0.1:0", "--data-dir", dir}
	out, errout, stop := background(t, append(args, "--no-demo")...)
	out.Await(t, "Ctrl-C stops it.")
	banner := out.String()
	url, broker := pageURL.FindStringSubmatch(banner), kafkaAt.FindStringSubmatch(banner)
	if url == nil || broker == nil {
		t.Fatalf("no addresses in\n%s", banner)
	}
	for origin, want := range map[string]int{"http://localhost:13000": http.StatusSwitchingProtocols, "http://evil.example": http.StatusForbidden} {
		c, res, err := websocket.Dial(t.Context(), url[1]+"/v1/socket?user_id=ann", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		if c != nil {
			_ = c.CloseNow()
		}
		if res != nil && res.Body != nil {
			_ = res.Body.Close()
		}
		if res == nil || res.StatusCode != want {
			t.Errorf("a page of %s: %v, %v, want %d", origin, res, err, want)
		}
	}
	for _, l := range lines(banner) {
		if input, cmd, is := strings.Cut(strings.TrimPrefix(l, "  echo '"), "' | tidemark "); is {
			ok(t, input, strings.Fields(cmd)...)
		}
		if cmd, is := strings.CutPrefix(l, "  tidemark query explain "); is {
			eventually(t, "hello-1", append([]string{"query", "explain"}, strings.Fields(cmd)...)...)
		}
	}
	if code := stop(); code != exitDone {
		t.Errorf("exit %d\n%s%s", code, out, errout)
	}
	if !strings.Contains(out.String(), "topics and state are in "+dir) {
		t.Errorf("the end:\n%s", out)
	}

	// Again, with the demo: what was there is there.
	out, _, stop = background(t, args...)
	out.Await(t, "Ctrl-C stops it.")
	url = pageURL.FindStringSubmatch(out.String())
	if got := ok(t, "", "query", "explain", "ann", "general", "--addr", url[1]); !strings.Contains(got, "hello-1") {
		t.Errorf("after a restart:\n%s", got)
	}
	if code := stop(); code != exitDone {
		t.Errorf("exit %d", code)
	}
}

// The usual ports are taken, by this test or by whatever runs on the machine: dev finds others, and
// verbs without flags reach it with what it prints to export.
func TestDevFindsFreePorts(t *testing.T) {
	for _, addr := range []string{usualListen, usualKafka, usualRedis} {
		if ln, err := net.Listen("tcp", addr); err == nil {
			defer ln.Close()
		}
	}
	out, _, stop := background(t, "dev", "--no-demo")
	out.Await(t, "Ctrl-C stops it.")
	exported := regexp.MustCompile(`(?m)^  export (TIDEMARK_ADDR=\S+) (TIDEMARK_BROKERS=\S+) (TIDEMARK_REDIS=redis://\S+)$`).FindStringSubmatch(out.String())
	if exported == nil {
		t.Fatalf("nothing to export in\n%s", out)
	}
	for i, usual := range []string{"http://" + usualListen, usualKafka, "redis://" + usualRedis} {
		name, value, _ := strings.Cut(exported[i+1], "=")
		if value == usual {
			t.Errorf("%s=%s, which is taken", name, value)
		}
		t.Setenv(name, value)
	}
	tokens := ok(t, joinLine+"\n"+postLine("m1", "x"), "emit")
	if got := ok(t, "", "query", "unread", "ann", "general", "--after", strings.Join(lines(tokens), ",")); !strings.Contains(got, "unread          1") {
		t.Errorf("%s", got)
	}
	if code := stop(); code != exitDone {
		t.Errorf("exit %d", code)
	}
}

func TestDevRemovesItsTemporaryData(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	out, _, stop := background(t, "dev", "--listen", "127.0.0.1:0", "--kafka-listen", "127.0.0.1:0", "--redis-listen", "127.0.0.1:0")
	out.Await(t, "Ctrl-C stops it.")
	if code := stop(); code != exitDone || !strings.Contains(out.String(), "the temporary data is removed") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A node on a real Kafka and a real Redis, with everything that an operator types.
func TestRunOnRealServers(t *testing.T) {
	brokers := strings.Join(testkit.KafkaN(t, 1).Brokers, ",") // its own: verbs know the topics by the names of production
	redis := testkit.Redis(t).URL
	ok(t, "", "topics", "create", "--brokers", brokers, "--partitions", "2", "--replication-factor", "1")
	ok(t, "", "topics", "check", "--brokers", brokers, "--partitions", "2", "--replication-factor", "1")

	dir := t.TempDir()
	args := []string{"run", "--brokers", brokers, "--redis", redis, "--data-dir", dir, "--listen", "127.0.0.1:0", "--memory", "256MiB"}
	for round := range 2 {
		_, errout, stop := background(t, args...)
		errout.Await(t, "node started")
		url := "http://" + listenAt.FindStringSubmatch(errout.String())[1]
		awaitReady(t, url)
		tokens := ok(t, joinLine+"\n"+postLine("m1", "x")+"\n"+postLine("m2", "y")+"\n"+readLine, "emit", "--brokers", brokers)
		got := ok(t, "", "query", "unread", "ann", "general", "--addr", url, "--after", strings.Join(lines(tokens), ","))
		if !strings.Contains(got, "unread          1") {
			t.Errorf("round %d:\n%s", round, got)
		}
		if code := stop(); code != exitDone {
			t.Errorf("round %d: exit %d\n%s", round, code, errout)
		}
	}
}

// TestRunWithThePage: the page and its sockets are there, and what is told to people is for tokens
// of services.
func TestRunWithThePage(t *testing.T) {
	brokers := strings.Join(testkit.FakeKafka(t).ListenAddrs(), ",")
	redis := "redis://" + testkit.Miniredis(t).Addr()
	ok(t, "", "topics", "create", "--brokers", brokers, "--partitions", "2", "--replication-factor", "1")
	_, errout, stop := background(t, "run", "--ui", "--brokers", brokers, "--redis", redis, "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0",
		"--memory", "256MiB", "--auth-keys", authtest.KeyFile(t), "--auth-issuer", authtest.Issuer)
	errout.Await(t, "node started")
	if !strings.Contains(errout.String(), "processor,cache,query,gateway") {
		t.Errorf("the page's people have nothing to connect to:\n%s", errout)
	}
	url := "http://" + listenAt.FindStringSubmatch(errout.String())[1]
	awaitReady(t, url)
	for _, c := range []struct {
		path, token string
		want        int
	}{
		{"/", "", http.StatusOK},
		{"/ui/app.js", "", http.StatusOK},
		{"/ui/api/operators", "", http.StatusUnauthorized},
		{"/ui/api/operators", authtest.Token(t, "ann", time.Hour), http.StatusForbidden},
		{"/ui/api/operators", authtest.Service(t), http.StatusOK},
		{"/v1/socket", "", http.StatusUpgradeRequired},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s: %s, want %d", c.path, res.Status, c.want)
		}
	}
	if code := stop(); code != exitDone {
		t.Errorf("exit %d\n%s", code, errout)
	}
}

// TestGatewayIsANodeWithoutState: `tidemark gateway` has no data directory; it forwards queries and
// takes sockets.
func TestGatewayIsANodeWithoutState(t *testing.T) {
	brokers := strings.Join(testkit.FakeKafka(t).ListenAddrs(), ",")
	redis := "redis://" + testkit.Miniredis(t).Addr()
	ok(t, "", "topics", "create", "--brokers", brokers, "--partitions", "2", "--replication-factor", "1")
	_, nodeLog, _ := background(t, "run", "--brokers", brokers, "--redis", redis, "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--memory", "256MiB")
	nodeLog.Await(t, "node started")
	awaitReady(t, "http://"+listenAt.FindStringSubmatch(nodeLog.String())[1])
	t.Chdir(t.TempDir())
	_, errout, stop := background(t, "gateway", "--brokers", brokers, "--redis", redis, "--listen", "127.0.0.1:0")
	errout.Await(t, "node started")
	url := "http://" + listenAt.FindStringSubmatch(errout.String())[1]
	after := lines(ok(t, joinLine+"\n"+postLine("m1", "x"), "emit", "--brokers", brokers))
	if out := ok(t, "", "query", "unread", "ann", "general", "--addr", url, "--after", strings.Join(after, ",")); !strings.Contains(out, "unread          1") {
		t.Errorf("by the gateway: %s", out)
	}
	if code := stop(); code != exitDone {
		t.Errorf("exit %d\n%s", code, errout)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("it wrote %v, %v", left, err)
	}
}

func TestThePageNeedsTheRoleQuery(t *testing.T) {
	_, errout, stop := background(t, "run", "--ui", "--roles", "cache")
	errout.Await(t, "--ui needs the role query")
	if code := stop(); code != exitUsage {
		t.Errorf("exit %d\n%s", code, errout)
	}
}

func awaitReady(t *testing.T, url string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		res, err := http.Get(url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == http.StatusOK && strings.Count(string(body), " live") == 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("/readyz: %d %s", res.StatusCode, body)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
