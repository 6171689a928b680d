package peer

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tidemark/tidemark/internal/obs"
)

// A forwarded call keeps the id of the caller's request, so that the logs of both nodes have it.
func TestForwardedCallsKeepTheRequestID(t *testing.T) {
	in := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	in.Header.Set(obs.RequestIDHeader, "r-1")
	ctx := obs.WithRequestID(httptest.NewRecorder(), in).Context()
	got := "nothing was sent"
	p := &Proof{Secrets: secrets(t, "0123456789abcdef0123456789abcdef")}
	transport := p.Transport(transportFunc(func(r *http.Request) (*http.Response, error) {
		got = r.Header.Get(obs.RequestIDHeader)
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}), "http://node-2:8080")
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://node-2:8080/x", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := transport.RoundTrip(out)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got != "r-1" {
		t.Errorf("%q", got)
	}
}
