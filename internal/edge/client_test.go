package edge

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/obs"
)

// Only headers of a trusted proxy determine the address of a request; anything that a client adds
// has no effect.
func TestAddressesBehindProxies(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	for _, c := range []struct {
		name, remote string
		headers      map[string][]string
		want         string
	}{
		{"no proxy", "192.0.2.1:5", nil, "192.0.2.1:5"},
		{"a stranger says something", "192.0.2.1:5", map[string][]string{"X-Forwarded-For": {"1.1.1.1"}}, "192.0.2.1:5"},
		{"a proxy", "10.0.0.1:5", map[string][]string{"X-Forwarded-For": {"192.0.2.1"}}, "192.0.2.1:0"},
		{"a proxy by IPv4 in IPv6", "[::ffff:10.0.0.1]:5", map[string][]string{"X-Forwarded-For": {"192.0.2.1"}}, "192.0.2.1:0"},
		{"a client that lies to the proxy", "10.0.0.1:5", map[string][]string{"X-Forwarded-For": {"1.1.1.1, 192.0.2.1"}}, "192.0.2.1:0"},
		{"in a header of its own", "10.0.0.1:5", map[string][]string{"X-Forwarded-For": {"1.1.1.1", "192.0.2.1"}}, "192.0.2.1:0"},
		{"two proxies", "10.0.0.1:5", map[string][]string{"X-Forwarded-For": {"192.0.2.1, 10.0.0.2"}}, "192.0.2.1:0"},
		{"only proxies", "10.0.0.1:5", map[string][]string{"X-Forwarded-For": {"10.0.0.3, 10.0.0.2"}}, "10.0.0.3:0"},
		{"a proxy that says nothing", "10.0.0.1:5", nil, "10.0.0.1:5"},
		{"a proxy that says nonsense", "10.0.0.1:5", map[string][]string{"X-Forwarded-For": {"1.1.1.1, unknown"}}, "10.0.0.1:5"},
		{"nonsense before what is there", "10.0.0.1:5", map[string][]string{"X-Forwarded-For": {"<script>, 10.0.0.2"}}, "10.0.0.2:0"},
		{"Forwarded", "10.0.0.1:5", map[string][]string{"Forwarded": {`for=1.1.1.1, For="[2001:db8::7]:4711";proto=https`}}, "[2001:db8::7]:0"},
		{"Forwarded without an address", "10.0.0.1:5", map[string][]string{"Forwarded": {`for=1.1.1.1, for=_hidden`}}, "10.0.0.1:5"},
		{"both, of which the client wrote one", "10.0.0.1:5", map[string][]string{"Forwarded": {"for=1.1.1.1"}, "X-Forwarded-For": {"192.0.2.1"}}, "10.0.0.1:5"},
		{"a long list", "10.0.0.1:5", map[string][]string{"X-Forwarded-For": {"192.0.2.1" + strings.Repeat(", 10.0.0.2", 100)}}, "10.0.0.2:0"},
		{"IPv6", "[2001:db8:1::1]:5", map[string][]string{"X-Forwarded-For": {"2001:db8::7"}}, "[2001:db8::7]:0"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header = c.remote, c.headers
		if got := fromClient(r, trusted).RemoteAddr; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := fromClient(r, nil).RemoteAddr; got != c.remote {
			t.Errorf("%s, and nobody is trusted: %s", c.name, got)
		}
	}
}

// Without keys, a host name of another site that resolves to this node is refused on every path.
func TestNamesOfOtherSites(t *testing.T) {
	registry := prometheus.NewRegistry()
	addr := start(t, Config{Hosts: []string{"chat.example.com"}, Registerer: registry}, nil, site())
	withKeys := start(t, Config{Keys: true}, nil, site())
	ask := func(addr, path, host string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == http.StatusForbidden && !bytes.Contains(b, []byte("--hosts")) {
			t.Errorf("refused in the words %s", b)
		}
		return res.StatusCode
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for host, ok := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:8080": true, "localhost": true, "LOCALHOST:1": true, "tidemark.localhost": true, "[::1]:8080": true, "[::1]": true,
		"chat.example.com": true, "Chat.Example.com.:443": true,
		"evil.example": false, "evil.example:8080": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false, "chat.example.com.evil.example": false,
		"tidemark": false, "tidemark:8080": false, "0x7f000001": false, // other names are not allowed at a loopback address
	} {
		for _, path := range []string{"/healthz", "/metrics", "/nowhere"} {
			if got := ask(addr, path, host); (got != http.StatusForbidden) != ok {
				t.Errorf("%s of %q: %d", path, host, got)
			}
		}
		if got := ask(withKeys, "/healthz", host); got != http.StatusOK {
			t.Errorf("with keys, %q: %d", host, got)
		}
	}
	if n := gathered(t, registry, "tidemark_http_refused_total", "host"); n != 8*3 {
		t.Errorf("%v refused requests are counted", n)
	}
}

// At an address that other machines reach, host names without a dot are allowed as well: no site
// has one.
func TestNamesOfAPrivateNetwork(t *testing.T) {
	s := New(Config{}, "test", nil)
	for host, ok := range map[string]bool{"tidemark-0": true, "10.0.0.5:8080": true, "evil.example": false, "tidemark.svc": false} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		if got := s.hostAllowed(r); got != ok {
			t.Errorf("%q: %v", host, got)
		}
	}
}

// Strangers cause at most one log line per second, in the log's own format, with the number of
// omitted lines.
func TestStrangersWriteNoLines(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1_800_000_000, 0)
	l := newErrorLog(obs.NewSeldom(slog.New(slog.NewJSONHandler(&out, nil)), func() time.Time { return now }))
	for range 100 {
		l.Printf("http: TLS handshake error from %s: tls: \"\n{\"level\":\"ERROR\",\"msg\":\"forged\"}%s", "192.0.2.1:5", strings.Repeat("x", 5000))
	}
	now = now.Add(time.Second)
	l.Print("one more")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || len(lines[0]) > 1000 {
		t.Fatalf("%d lines, the first of %d bytes", len(lines), len(lines[0]))
	}
	for i, line := range lines {
		var got struct {
			Msg, Err string
			Left     int `json:"left_out"`
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Msg != "http" {
			t.Errorf("line %d is %s", i, line)
		}
		if i == 1 && got.Left != 99 {
			t.Errorf("%d lines were left out, want 99", got.Left)
		}
	}
}
