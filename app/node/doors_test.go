package node_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/query"
)

// All paths of a node are behind its edge: a connection ends wherever its client stalls, and a host
// name of another site is refused. Paths for operators have their own listener.
func TestTheDoorsOfANode(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics := env.Topics(t, 2)
	c := options(t, env, topics, testkit.UniqueName(t, "node"), config.RoleProcessor, config.RoleQuery, config.RoleGateway)
	c.Edge = edge.Config{ReadTimeout: time.Second, WriteTimeout: time.Second, HeaderTimeout: time.Second, IdleTimeout: time.Second}
	c.Limits = query.Limits{AddressRate: 0.001, AddressBurst: 1}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.AdminListener = l
	n := run(t, c)
	admin := "http://" + l.Addr().String()
	until(t, func() error {
		if status, text := get(t, n.url+"/readyz"); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, text)
		}
		return nil
	})
	for path, want := range map[string][2]int{ // of the node's listener, and of that for those who run it
		"/healthz": {200, 200}, "/readyz": {200, 200}, "/metrics": {404, 200}, "/admin/partitions": {404, 200}, "/debug/pprof/": {404, 200},
		"/debug/pprof/cmdline": {404, 200}, "/v1/socket": {400, 404},
	} {
		one, _ := get(t, n.url+path)
		other, _ := get(t, admin+path)
		if one != want[0] || other != want[1] {
			t.Errorf("%s: %d, and %d for those who run the node; want %v", path, one, other, want)
		}
	}
	const call = "/tidemark.query.v1.QueryService/GetInbox"
	for _, path := range []string{"/healthz", "/readyz", "/metrics", call, "/v1/socket?user_id=ann", "/admin/partitions", "/nowhere"} {
		for _, base := range []string{n.url, admin} {
			req, err := http.NewRequestWithContext(within(t), http.MethodPost, base+path, strings.NewReader(`{"user_id":"ann"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = "evil.example"
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode != http.StatusForbidden {
				t.Errorf("%s at a name of another site: %d", path, res.StatusCode)
			}
		}
	}
	var left []net.Conn
	for _, path := range []string{"/healthz", "/metrics", "/v1/socket", "/admin/snapshots", "/nowhere", "/ui/"} {
		for _, method := range []string{"GET", "POST"} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(n.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n", method, path)
			left = append(left, conn)
		}
	}
	for i, conn := range left {
		if err := conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		var ne net.Error
		if _, err := io.Copy(io.Discard, conn); errors.As(err, &ne) && ne.Timeout() {
			t.Errorf("connection %d is still there", i)
		}
	}
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		res, err := http.Post(n.url+call, "application/json", strings.NewReader(`{"user_id":"ann"}`)) //nolint:noctx // of a test
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != want || (want != http.StatusOK) != (res.Header.Get("Retry-After") != "") {
			t.Errorf("call %d: %d %v, want %d", i, res.StatusCode, res.Header, want)
		}
	}
}

// With keys every operator's path needs the scope admin, with any method and at both listeners.
// This includes paths that do not exist, so that nobody finds out which do.
func TestTheAdminScopeIsAskedFor(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics := env.Topics(t, 1)
	start := func(l net.Listener) *running {
		c := options(t, env, topics, testkit.UniqueName(t, "node"), config.RoleProcessor, config.RoleQuery)
		level, err := obs.NewLevel("info")
		if err != nil {
			t.Fatal(err)
		}
		c.Verifier, c.AdminListener, c.LogLevel = authtest.Verifier(t), l, level
		return run(t, c)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	one := start(nil)
	start(l)
	apart := "http://" + l.Addr().String()
	asks := func(method, url, token string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(within(t), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	paths := map[string][]string{
		one.url: {"/admin/", "/admin/partitions", "/admin/checkpoint", "/admin/snapshots", "/admin/log-level", "/admin/nowhere"},
		apart: {
			"/admin/", "/admin/partitions", "/admin/checkpoint", "/admin/snapshots", "/admin/log-level", "/admin/nowhere", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap",
			"/debug/pprof/goroutine?debug=2", "/debug/pprof/symbol", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=1", "/debug/pprof/nowhere",
		},
	}
	for base, list := range paths {
		for _, path := range list {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				for who, w := range map[string]struct {
					token string
					want  int
				}{
					"nobody": {"", http.StatusUnauthorized}, "a stranger": {authtest.Token(t, "ann", time.Hour) + "x", http.StatusUnauthorized},
					"a user":           {authtest.Token(t, "ann", time.Hour), http.StatusForbidden},
					"all other scopes": {authtest.Scoped(t, "svc", "read publish erase"), http.StatusForbidden},
				} {
					if status, text := asks(method, base+path, w.token); status != w.want || !strings.Contains(text, `"code":`) {
						t.Errorf("%s %s by %s: %d %s", method, path, who, status, text)
					}
				}
			}
		}
	}
	admin := authtest.Scoped(t, "ops", "admin")
	for _, url := range []string{one.url + "/admin/partitions", one.url + "/admin/log-level", apart + "/admin/log-level", apart + "/admin/partitions", apart + "/debug/pprof/heap", apart + "/debug/pprof/cmdline"} {
		if status, text := asks(http.MethodGet, url, admin); status != http.StatusOK {
			t.Errorf("%s by admin: %d %s", url, status, text)
		}
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap"} {
		if status, _ := asks(http.MethodGet, one.url+path, admin); status != http.StatusNotFound {
			t.Errorf("%s at the node's own listener: %d", path, status)
		}
	}
}
