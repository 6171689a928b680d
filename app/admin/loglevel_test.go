package admin

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Operators change the level of the log while the node runs. Nobody else does, and each change is a
// line of the audit log that has the new level.
func TestOperatorsChangeTheLogLevel(t *testing.T) {
	level, err := obs.NewLevel("info")
	if err != nil {
		t.Fatal(err)
	}
	var lines testkit.Output
	log, err := obs.NewLoggerAt(&lines, obs.FormatText, level)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "audit")
	notes, err := audit.Open(name, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(LogLevel(Config{Verifier: authtest.Verifier(t), Audit: notes, Level: level, Logger: log}))
	defer s.Close()
	c := &Client{URL: s.URL, Token: authtest.Scoped(t, "ann", "read publish erase")}
	if _, err := c.SetLogLevel(t.Context(), LogLevelRequest{Level: "debug"}); err == nil || !strings.Contains(err.Error(), "needs the scope admin") {
		t.Errorf("without the scope: %v", err)
	}
	if _, err := c.LogLevel(t.Context()); err == nil || !strings.Contains(err.Error(), "needs the scope admin") {
		t.Errorf("without the scope: %v", err)
	}
	log.Debug("not yet")
	c.Token = authtest.Scoped(t, "ops", "admin")
	if got, err := c.SetLogLevel(t.Context(), LogLevelRequest{Level: "debug", For: "10m"}); err != nil || got.Level != "debug" || got.Usual != "info" || got.Until == nil {
		t.Errorf("%+v, %v", got, err)
	}
	log.Debug("now")
	if got, err := c.LogLevel(t.Context()); err != nil || got.Level != "debug" || got.Until == nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, w := range []struct {
		q    LogLevelRequest
		want string
	}{
		{LogLevelRequest{Level: "loud"}, "want debug, info, warn or error, or usual"}, {LogLevelRequest{}, "want debug"},
		{LogLevelRequest{Level: "info", For: "soon"}, "want a duration above 0"}, {LogLevelRequest{Level: "info", For: "-1s"}, "want a duration above 0"},
		{LogLevelRequest{Level: UsualLevel, For: "1s"}, "has no end"},
	} {
		if _, err := c.SetLogLevel(t.Context(), w.q); err == nil || !strings.Contains(err.Error(), w.want) {
			t.Errorf("%+v: %v, want %q", w.q, err, w.want)
		}
	}
	if got, err := c.SetLogLevel(t.Context(), LogLevelRequest{Level: UsualLevel}); err != nil || got != (obs.LevelState{Level: "info", Usual: "info"}) {
		t.Errorf("%+v, %v", got, err)
	}
	log.Debug("no longer")
	if text := lines.String(); strings.Contains(text, "not yet") || !strings.Contains(text, "msg=now") || strings.Contains(text, "no longer") ||
		!strings.Contains(text, "the log level was changed") {
		t.Errorf("%s", text)
	}
	notes.Close()
	changes(t, name)
}

// changes judges the lines of the audit log.
func changes(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var levels []string
	refused := 0
	for line := range strings.Lines(string(b)) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Kind == audit.Refusal && e.Who == "ann":
			refused++
		case e.Kind != audit.Admin || e.Who != "ops" || e.What != PathLogLevel:
			t.Errorf("%s", line)
		case e.Level != "":
			levels = append(levels, e.Level)
		}
	}
	if strings.Join(levels, ", ") != "debug for 10m0s, usual" || refused != 2 {
		t.Errorf("levels %v, %d refusals", levels, refused)
	}
}

// Where the level cannot change, the caller is told where to look. Other methods are refused.
func TestTheLogLevelIsElsewhere(t *testing.T) {
	c, _ := serve(t, &node{}, nil)
	if _, err := c.LogLevel(t.Context()); err == nil || !strings.Contains(err.Error(), "--admin-listen address") {
		t.Error(err)
	}
	level, err := obs.NewLevel("info")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+PathLogLevel, strings.NewReader(`{"level":"debug"}`))
	r.Header.Set("Content-Type", "application/json")
	if LogLevel(Config{Level: level, Logger: slog.New(slog.DiscardHandler)}).ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed || level.State().Level != "info" {
		t.Errorf("%d, %+v", w.Code, level.State())
	}
}
