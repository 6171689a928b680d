package ui

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// idle is a node that owns nothing.
type idle struct{}

func (idle) Partitions() int32                            { return 2 }
func (idle) Status() []processor.PartitionStatus          { return nil }
func (idle) Standbys() []processor.PartitionStatus        { return nil }
func (idle) Live(int32) (*projections.Partition, error)   { return nil, processor.ErrNotOwner }
func (idle) Owner(context.Context, int32) (string, error) { return "http://elsewhere", nil }

type switchable struct{ state DemoState }

func (s *switchable) Set(d DemoState)  { s.state = d }
func (s *switchable) State() DemoState { return s.state }

func page(t *testing.T) (*UI, *switchable) {
	t.Helper()
	demo := &switchable{}
	u, err := New(Config{Node: idle{}, Ready: func() (bool, []string) { return true, nil }, Metrics: prometheus.NewRegistry(),
		Demo: demo, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return u, demo
}

func ask(u *UI, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	u.ServeHTTP(w, r)
	return w
}

// TestNothingFromElsewhere: no file of the page names another address, and no HTML has inline
// script or style.
func TestNothingFromElsewhere(t *testing.T) {
	address := regexp.MustCompile(`(?:https?|wss?):\/\/[^\s'"` + "`" + `)]+`)
	allowed := []string{"http://www.w3.org/2000/svg", "http://127.0.0.1:8080"}
	files := 0
	u, _ := page(t)
	for name, f := range u.files {
		files++
		text := string(f.body)
		for _, a := range allowed {
			text = strings.ReplaceAll(text, a, "")
		}
		if found := address.FindString(text); found != "" {
			t.Errorf("%s names %s", name, found)
		}
		for _, bad := range []string{"innerHTML", "eval(", "document.write", "<style", "style=\"", "onclick=\""} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s, which the policy forbids", name, bad)
			}
		}
	}
	if files < 15 {
		t.Fatalf("%d files are embedded", files)
	}
}

// TestEveryFileThatIsNamedIsThere: imports, style sheets and pictures exist.
func TestEveryFileThatIsNamedIsThere(t *testing.T) {
	u, _ := page(t)
	named := regexp.MustCompile(`["'](/ui/[a-z/.]+\.(?:js|css|svg))["']`)
	seen := 0
	err := fs.WalkDir(static, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(static, path)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			seen++
			if w := ask(u, http.MethodGet, m[1], ""); w.Code != http.StatusOK {
				t.Errorf("%s names %s: %d", path, m[1], w.Code)
			}
		}
		return err
	})
	if err != nil || seen < 20 {
		t.Fatalf("%d names, %v", seen, err)
	}
}

func TestThePolicyIsOnEveryAnswer(t *testing.T) {
	u, _ := page(t)
	for _, path := range []string{"/", "/ui/app.js", "/ui/client/index.js", "/ui/api/about", "/ui/none"} {
		w := ask(u, http.MethodGet, path, "")
		if got := w.Header().Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") || strings.Contains(got, "unsafe") {
			t.Errorf("%s: policy %q", path, got)
		}
	}
	if w := ask(u, http.MethodGet, "/ui/none", ""); w.Code != http.StatusNotFound {
		t.Errorf("a file that is not there: %d", w.Code)
	}
	if w := ask(u, http.MethodDelete, "/ui/app.js", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d", w.Code)
	}
	first := ask(u, http.MethodGet, "/", "")
	if w := ask(u, http.MethodGet, "/", "", "If-None-Match", first.Header().Get("ETag")); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("the same file again: %d with %d bytes", w.Code, w.Body.Len())
	}
}

func TestAnotherSiteCannotPressButtons(t *testing.T) {
	u, demo := page(t)
	if w := ask(u, http.MethodPost, "/ui/api/demo", `{"paused":true}`, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("from another site: %d", w.Code)
	}
	if demo.state.Paused {
		t.Fatal("another site has paused the demo")
	}
	if w := ask(u, http.MethodPost, "/ui/api/demo", `{"paused":true,"away":["ann"]}`, "Sec-Fetch-Site", "same-origin"); w.Code != http.StatusOK {
		t.Errorf("from the page: %d %s", w.Code, w.Body)
	}
	if !demo.state.Paused || len(demo.state.Away) != 1 {
		t.Errorf("the demo was told %+v", demo.state)
	}
	for _, bad := range []string{"", "{", `{"unknown":1}`, strings.Repeat(" ", 70_000) + "{}"} {
		if w := ask(u, http.MethodPost, "/ui/api/demo", bad); w.Code != http.StatusBadRequest {
			t.Errorf("%.20q: %d", bad, w.Code)
		}
	}
}

func TestOperatorsOfANodeThatOwnsNothing(t *testing.T) {
	u, _ := page(t)
	w := ask(u, http.MethodGet, "/ui/api/operators", "")
	if w.Code != http.StatusOK || strings.Count(w.Body.String(), `"state":"elsewhere"`) != 2 || !strings.Contains(w.Body.String(), `"owner":"http://elsewhere"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestHistoryRefusesWhatIsNoChannel(t *testing.T) {
	u, _ := page(t)
	for _, bad := range []string{"", "?channel_id=", "?channel_id=a%00b", "?channel_id=a&since=x", "?channel_id=" + strings.Repeat("a", 256)} {
		if w := ask(u, http.MethodGet, "/ui/api/history"+bad, ""); w.Code != http.StatusBadRequest {
			t.Errorf("%.40s: %d", bad, w.Code)
		}
	}
}
