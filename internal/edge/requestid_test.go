package edge

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/tidemark/tidemark/internal/obs"
)

// Each answer names its request, as the caller did if they did sanely: that of the handler, which
// knows the name, and a refusal that no handler sees.
func TestEveryAnswerNamesItsRequest(t *testing.T) {
	message := ""
	s := New(Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, "http", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message = obs.RequestID(r.Context())
		http.Error(w, "no", http.StatusTeapot)
	}))
	for _, c := range []struct {
		host, id string
		kept     bool
		status   int
	}{
		{"127.0.0.1", "r-1", true, http.StatusTeapot},
		{"127.0.0.1", "", false, http.StatusTeapot},
		{"127.0.0.1", "two words", false, http.StatusTeapot},
		{"evil.example.com", "r-2", true, http.StatusMisdirectedRequest},
	} {
		message = ""
		r, w := httptest.NewRequest(http.MethodGet, "/", http.NoBody), httptest.NewRecorder()
		r.Host = c.host
		r.Header.Set(obs.RequestIDHeader, c.id)
		r.Header.Set("X-Forwarded-For", "198.51.100.7")
		s.http.Handler.ServeHTTP(w, r)
		got := w.Header().Get(obs.RequestIDHeader)
		if w.Code != c.status && c.status == http.StatusTeapot || got == "" || (got == c.id) != c.kept {
			t.Errorf("%+v: status %d, id %q", c, w.Code, got)
		}
		if w.Code == http.StatusTeapot && message != got {
			t.Errorf("%+v: the handler knows it as %q, the answer says %q", c, message, got)
		}
		if c.status != http.StatusTeapot && w.Code < 400 {
			t.Errorf("%+v: status %d", c, w.Code)
		}
	}
}
