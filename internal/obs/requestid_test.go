package obs

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A caller's id is kept if it can do no harm in a log; else the request gets another.
func TestRequestID(t *testing.T) {
	for id, kept := range map[string]bool{
		"4bf92f3577b34da6": true, "a.b:c-d_E9": true, strings.Repeat("x", 64): true,
		"": false, strings.Repeat("x", 65): false, "a b": false, "a\"b": false, "ä": false, "a\tb": false, "a=b": false,
	} {
		r, w := httptest.NewRequest(http.MethodGet, "/", http.NoBody), httptest.NewRecorder()
		r.Header.Set(RequestIDHeader, id)
		got := RequestID(WithRequestID(w, r).Context())
		if (got == id) != kept || !sane(got) || w.Header().Get(RequestIDHeader) != got {
			t.Errorf("%q becomes %q, the answer has %q", id, got, w.Header().Get(RequestIDHeader))
		}
	}
	if got := RequestID(t.Context()); got != "" || CarryRequestID(t.Context()) != context.Background() {
		t.Errorf("without a request: %q", got)
	}
}

// Lines of a request have its id, in groups and with attributes, too, and others have none.
func TestLogLinesHaveTheRequestID(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, FormatText, "info")
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set(RequestIDHeader, "r-1")
	ctx := WithRequestID(httptest.NewRecorder(), r).Context()
	log.With("role", "query").WarnContext(ctx, "one")
	log.WithGroup("g").WarnContext(ctx, "two")
	log.Warn("three")
	over, cancel := context.WithCancel(ctx)
	cancel()
	if on := CarryRequestID(over); on.Err() != nil || RequestID(on) != "r-1" {
		t.Errorf("what goes on: %v, %q", on.Err(), RequestID(on))
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[0], "request_id=r-1") || !strings.Contains(lines[1], "request_id=r-1") || strings.Contains(lines[2], "request_id") {
		t.Errorf("%s", out.String())
	}
}
