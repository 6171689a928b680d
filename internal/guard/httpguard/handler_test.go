package httpguard

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

func TestHandler(t *testing.T) {
	var log testkit.Output // the server's goroutines write it
	h := Handler(slog.New(slog.NewTextHandler(&log, nil)), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		switch r.URL.Path {
		case "/early":
			panic("planted")
		case "/late":
			_, _ = io.WriteString(w, "half")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			panic("planted")
		case "/abort":
			panic(http.ErrAbortHandler)
		}
	}))
	srv := httptest.NewServer(h)
	defer srv.Close()
	get := func(path string) (status int, body string, err error) {
		res, err := srv.Client().Get(srv.URL + path)
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return res.StatusCode, string(b), err
	}
	status, body, err := get("/early")
	if err != nil || status != http.StatusInternalServerError || body != `{"code":"internal","message":"`+Answer+"\"}\n" {
		t.Errorf("%d %q %v", status, body, err)
	}
	if message := log.String(); strings.Count(message, "panic while answering") != 1 || !strings.Contains(message, "handler_test.go") {
		t.Errorf("the log says %s", message)
	}
	if _, _, err := get("/late"); err == nil {
		t.Error("an answer that is cut off looks whole")
	}
	if message := log.String(); strings.Count(message, "panic while answering") != 2 {
		t.Errorf("the log says %s", message)
	}
	before := log.String()
	if _, _, err := get("/abort"); err == nil || log.String() != before {
		t.Errorf("an abort: %v, and the log says %s", err, log.String())
	}
	if status, _, err := get("/"); status != http.StatusOK || err != nil {
		t.Errorf("after all that: %d %v", status, err)
	}
}
