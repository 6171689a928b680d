package admin

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tidemark/tidemark/internal/test/authtest"
)

// Profiles show the content of memory, so they need the same rights as the other calls of this
// package.
func TestProfilesAreForThoseWhoRunTheNode(t *testing.T) {
	open := Profiles(Config{Logger: slog.New(slog.DiscardHandler)})
	guarded := Profiles(Config{Verifier: authtest.Verifier(t), Logger: slog.New(slog.DiscardHandler)})
	ask := func(h http.Handler, host, token string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/pprof/goroutine?debug=1", nil)
		r.Host = host
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		name string
		got  int
		want int
	}{
		{"without keys, by address", ask(open, "127.0.0.1:9090", ""), http.StatusOK},
		{"without keys, by a name", ask(open, "evil.example", ""), http.StatusForbidden},
		{"nobody", ask(guarded, "node", ""), http.StatusUnauthorized},
		{"a user", ask(guarded, "node", authtest.Token(t, "ann", 1<<40)), http.StatusForbidden},
		{"a service", ask(guarded, "node", authtest.Service(t)), http.StatusOK},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.name, c.got, c.want)
		}
	}
}
