package ui

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/authtest"
)

// apiPaths has every path that returns data or changes something.
var apiPaths = []struct{ method, path string }{
	{http.MethodGet, "/ui/api/about"},
	{http.MethodGet, "/ui/api/people"},
	{http.MethodGet, "/ui/api/history?channel_id=general"},
	{http.MethodGet, "/ui/api/changes"},
	{http.MethodGet, "/ui/api/operators"},
	{http.MethodGet, "/ui/api/deadletters"},
	{http.MethodPost, "/ui/api/deadletters/replay"},
	{http.MethodPost, "/ui/api/demo"},
	{http.MethodGet, "/ui/api/what-is-not-there"},
}

// TestWithKeysATokenOfAServiceIsNeeded: everything under /ui/api needs a service's token, but the
// files of the page do not.
func TestWithKeysATokenOfAServiceIsNeeded(t *testing.T) {
	u, _ := page(t)
	u.cfg.Verifier = authtest.Verifier(t)
	for _, p := range apiPaths {
		for _, c := range []struct {
			name   string
			header []string
			want   int
		}{
			{"no token", nil, http.StatusUnauthorized},
			{"no JWT", []string{"Authorization", "Bearer nonsense"}, http.StatusUnauthorized},
			{"an expired token", []string{"Authorization", "Bearer " + authtest.Token(t, "ann", -time.Hour)}, http.StatusUnauthorized},
			{"a user's token", []string{"Authorization", "Bearer " + authtest.Token(t, "ann", time.Hour)}, http.StatusForbidden},
		} {
			got := ask(u, p.method, p.path, "{}", c.header...)
			if got.Code != c.want || (c.want == http.StatusUnauthorized) != (got.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("%s %s with %s: %d %s", p.method, p.path, c.name, got.Code, got.Body)
			}
		}
	}
	if got := ask(u, http.MethodGet, "/ui/api/people", "", "Authorization", "Bearer "+authtest.Service(t)); got.Code != http.StatusOK {
		t.Errorf("with a service's token: %d %s", got.Code, got.Body)
	}
	for _, path := range []string{"/", "/ui/app.js", "/ui/style.css"} {
		if got := ask(u, http.MethodGet, path, ""); got.Code != http.StatusOK {
			t.Errorf("%s without a token: %d", path, got.Code)
		}
	}
}

// TestAStreamEndsWithItsToken: a stream does not outlive the token that opened it.
func TestAStreamEndsWithItsToken(t *testing.T) {
	u, _ := page(t)
	u.cfg.Verifier = authtest.Verifier(t)
	called := false
	inner := u.guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		called = true
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
			t.Error("a call outlives its token")
		}
	}))
	r := httptest.NewRequest(http.MethodGet, "/ui/api/changes", nil)
	r.Header.Set("Authorization", "Bearer "+authtest.ServiceFor(t, 3*time.Second))
	inner.ServeHTTP(httptest.NewRecorder(), r)
	if !called {
		t.Error("a service's token was refused")
	}
}

// TestWithoutKeysNoNameWillDo: a host name that another site points at this machine (DNS rebinding)
// gets no data.
func TestWithoutKeysNoNameWillDo(t *testing.T) {
	u, _ := page(t)
	server := httptest.NewServer(u)
	defer server.Close()
	for host, want := range map[string]int{
		"": http.StatusOK, "localhost:8080": http.StatusOK, "127.0.0.1": http.StatusOK, "[::1]:8080": http.StatusOK, "10.1.2.3:80": http.StatusOK,
		"evil.example": http.StatusForbidden, "evil.example:8080": http.StatusForbidden, "localhost.evil.example": http.StatusForbidden, "127.0.0.1.evil.example:1": http.StatusForbidden,
	} {
		for _, path := range []string{"/ui/api/about", "/ui/api/changes"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if host != "" {
				req.Host = host
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(res.Body).ReadByte(); err != nil {
				t.Errorf("%s at %s: no answer: %v", path, host, err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%s at %s: %s", path, host, res.Status)
			}
		}
	}
}
