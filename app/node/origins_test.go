package node_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A page whose origin is on the list for sockets may call the query API, too, and nothing else.
func TestPagesOfOtherOrigins(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	c := options(t, env, env.Topics(t, 1), testkit.UniqueName(t, "node"), config.RoleProcessor, config.RoleQuery)
	const page = "https://chat.example.com"
	c.Gateway.Origins = []string{page}
	n := run(t, c)
	until(t, func() error {
		if status, text := get(t, n.url+"/readyz"); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, text)
		}
		return nil
	})
	ask := func(method, path, origin string) (status int, allowed string) {
		req, err := http.NewRequestWithContext(within(t), method, n.url+path, strings.NewReader(`{"user_id":"ann"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", origin)
		if method == http.MethodOptions {
			req.Header.Set("Access-Control-Request-Method", http.MethodPost)
			req.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode, res.Header.Get("Access-Control-Allow-Origin")
	}
	const call = "/tidemark.query.v1.QueryService/GetInbox"
	for _, method := range []string{http.MethodOptions, http.MethodPost} {
		if status, allowed := ask(method, call, page); status/100 != 2 || allowed != page {
			t.Errorf("%s: %d, allowed is %q", method, status, allowed)
		}
		if _, allowed := ask(method, call, "https://evil.example"); allowed != "" {
			t.Errorf("%s of another page: allowed is %q", method, allowed)
		}
		for _, path := range []string{"/metrics", "/readyz", "/admin/partitions"} {
			if _, allowed := ask(method, path, page); allowed != "" {
				t.Errorf("%s %s: allowed is %q", method, path, allowed)
			}
		}
	}
}
