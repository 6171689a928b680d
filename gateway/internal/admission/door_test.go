package admission

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark/tidemark/internal/limit"
	"github.com/tidemark/tidemark/internal/test/authtest"
)

// door returns a Door without a rate limit for addresses.
func door(c Config) *Door {
	if c.Addresses == nil {
		c.Addresses = limit.NewRates(1e9, 1e9, time.Now)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return New(c)
}

// asks returns a request for a socket at chat.example.com, from a page with an origin; empty: not
// from a page.
func asks(t *testing.T, origin, query string) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://chat.example.com/v1/socket"+query, nil)
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	return r
}

// Which pages may connect depends on the list, on whether there are keys, and on whether pages of
// this machine are allowed.
func TestWhichPagesMayConnect(t *testing.T) {
	keys := authtest.Verifier(t)
	for _, c := range []struct {
		name    string
		config  Config
		origin  string
		allowed bool
	}{
		{"no page", Config{}, "", true},
		{"a page of this host, with keys", Config{Verifier: keys}, "http://chat.example.com", true},
		{"a page of this host, without keys: anybody could give their host a name that leads here", Config{}, "http://chat.example.com", false},
		{"a page of this host, but there is a list", Config{Verifier: keys, Origins: []string{"https://a.example.com"}}, "http://chat.example.com", false},
		{"a page on the list", Config{Origins: []string{"https://a.example.com"}}, "https://a.example.com", true},
		{"a page on the list, by another port", Config{Origins: []string{"https://a.example.com"}}, "https://a.example.com:8443", false},
		{"a page of this machine", Config{Verifier: keys}, "http://localhost:5173", false},
		{"a page of this machine, which is allowed", Config{LoopbackOrigins: true}, "http://localhost:5173", true},
		{"a page of this machine by its address", Config{LoopbackOrigins: true}, "http://[::1]:5173", true},
		{"a name that only begins like this machine's", Config{LoopbackOrigins: true}, "http://localhost.example.com", false},
		{"a file", Config{Verifier: keys}, "null", false},
		{"an extension", Config{Verifier: keys}, "chrome-extension://chat.example.com", false},
	} {
		status, _ := door(c.config).Refuses(asks(t, c.origin, ""))
		if allowed := status == 0; allowed != c.allowed || !allowed && status != http.StatusForbidden {
			t.Errorf("%s: status %d, want allowed %v", c.name, status, c.allowed)
		}
	}
	two := asks(t, "http://chat.example.com", "")
	two.Header.Add("Origin", "http://chat.example.com")
	if status, _ := door(Config{Verifier: keys}).Refuses(two); status != http.StatusForbidden {
		t.Errorf("two origins: status %d", status)
	}
}

// A token in the URL is refused, whatever the parameter is called.
func TestNoTokenInAURL(t *testing.T) {
	for query, want := range map[string]int{
		"?token=x": http.StatusBadRequest, "?ACCESS_TOKEN=x": http.StatusBadRequest, "?jwt=x": http.StatusBadRequest,
		"?authorization=x": http.StatusBadRequest, "?user_id=token": 0, "": 0,
	} {
		if status, why := door(Config{}).Refuses(asks(t, "", query)); status != want || status != 0 && !strings.Contains(why, "Authorization: Bearer") {
			t.Errorf("%q: %d %s, want %d", query, status, why, want)
		}
	}
}

// An address with too many handshakes waits, and others do not.
func TestAddressesHaveRates(t *testing.T) {
	d := door(Config{Addresses: limit.NewRates(1, 2, func() time.Time { return time.Unix(0, 0) })})
	for i, want := range []int{0, 0, http.StatusTooManyRequests} {
		if status, _ := d.Refuses(asks(t, "", "")); status != want {
			t.Errorf("request %d: %d, want %d", i, status, want)
		}
	}
	other := asks(t, "", "")
	other.RemoteAddr = "198.51.100.7:1"
	if status, _ := d.Refuses(other); status != 0 {
		t.Errorf("another address: %d", status)
	}
}

// The log names a page that may not connect once a minute, however often it tries.
func TestARefusedPageIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := door(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for minute := 1; minute <= 3; minute++ {
			for range 10 {
				d.Refuses(asks(t, "https://evil.example.com", ""))
			}
			if n := strings.Count(log.String(), "evil.example.com"); n != minute {
				t.Errorf("in minute %d the log names the page %d times: %s", minute, n, &log)
			}
			time.Sleep(time.Minute + time.Second)
		}
	})
}
