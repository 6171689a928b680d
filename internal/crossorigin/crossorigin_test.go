package crossorigin

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// answer sends a request of a page and returns the answer.
func answer(t *testing.T, c Config, method, origin string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	h := Handler(c, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "called") }))
	r := httptest.NewRequest(method, "/tidemark.query.v1.QueryService/GetInbox", nil)
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const page = "https://chat.example.com"

// A page on the list may call and read the answer; another page's browser keeps it from the page.
func TestOrigins(t *testing.T) {
	listed, machine := Config{Origins: []string{page}}, Config{Loopback: true}
	for _, c := range []struct {
		config Config
		origin string
		ok     bool
	}{
		{listed, page, true},
		{listed, "https://chat.example.com.evil.example", false},
		{listed, "http://chat.example.com", false},
		{listed, "https://evil.example", false},
		{listed, "null", false},
		{listed, "http://localhost:5173", false},
		{Config{}, page, false},
		{machine, "http://localhost:5173", true},
		{machine, "http://127.0.0.1:3000", true},
		{machine, "http://[::1]:3000", true},
		{machine, "http://app.localhost:3000", true},
		{machine, "http://localhost.evil.example", false},
		{machine, "file://localhost", false},
		{machine, page, false},
	} {
		res := answer(t, c.config, http.MethodPost, c.origin, "Content-Type", "application/json")
		allowed := res.Header().Get("Access-Control-Allow-Origin")
		if (allowed == c.origin) != c.ok || !c.ok && allowed != "" {
			t.Errorf("%+v, %s: allowed is %q", c.config, c.origin, allowed)
		}
		if res.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: cookies are allowed", c.origin)
		}
		if c.ok && (!strings.Contains(res.Header().Get("Access-Control-Expose-Headers"), "Retry-After") || !strings.Contains(res.Header().Get("Vary"), "Origin")) {
			t.Errorf("%s: %v", c.origin, res.Header())
		}
	}
	if res := answer(t, listed, http.MethodPost, ""); res.Header().Get("Access-Control-Allow-Origin") != "" || res.Code != http.StatusOK {
		t.Errorf("no page: %v", res)
	}
}

// A preflight is answered here, for the headers that clients send; without the list it reaches the
// handler, which refuses OPTIONS.
func TestPreflight(t *testing.T) {
	ask := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,connect-protocol-version,content-type"}
	res := answer(t, Config{Origins: []string{page}}, http.MethodOptions, page, ask...)
	body, err := io.ReadAll(res.Body)
	if err != nil || len(body) > 0 || res.Code/100 != 2 || res.Header().Get("Access-Control-Allow-Origin") != page ||
		!strings.Contains(res.Header().Get("Access-Control-Allow-Headers"), "authorization") || res.Header().Get("Access-Control-Max-Age") != "7200" {
		t.Errorf("%d %v %q %v", res.Code, res.Header(), body, err)
	}
	res = answer(t, Config{Origins: []string{page}}, http.MethodOptions, "https://evil.example", ask...)
	if res.Header().Get("Access-Control-Allow-Origin") != "" || res.Header().Get("Access-Control-Allow-Headers") != "" {
		t.Errorf("another page: %v", res.Header())
	}
	res = answer(t, Config{}, http.MethodOptions, page, ask...)
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "called" {
		t.Errorf("without a list: %q %v", body, err)
	}
}
