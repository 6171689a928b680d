package query

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/watch"
	"github.com/tidemark/tidemark/projections"
)

// noNode has joined no group: calls that get past the front door end with unavailable.
type noNode struct{}

var errNoNode = errors.New("no group")

func (noNode) Partitions() int32                                      { return 0 }
func (noNode) Live(int32) (*projections.Partition, error)             { return nil, errNoNode }
func (noNode) Wait(context.Context, int32, events.Input, int64) error { return errNoNode }
func (noNode) Owner(context.Context, int32) (string, error)           { return "", errNoNode }
func (noNode) RelayKey(string) string                                 { return "" }
func (noNode) Watch(int32, string) (watch.Watcher, error)             { return nil, errNoNode }
func (noNode) MayHold(int32, uint64) bool                             { return true }
func (noNode) Arrivals(string) watch.Arrivals                         { panic("nothing is live here") }

// serve runs h with the server of NewServer.
func serve(t testing.TB, h http.Handler) *httptest.Server {
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = edge.NewServer(h)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

func TestFrontDoor(t *testing.T) {
	srv := serve(t, Handler(Config{Node: noNode{}}))
	const unread = "/tidemark.query.v1.QueryService/GetUnread"
	const watch = "/tidemark.query.v1.QueryService/WatchUnread"
	valid := `{"user_id":"a","channel_id":"c"}`
	for _, c := range []struct {
		name, method, path, contentType, body string
		status                                int
		code, message                         string
	}{
		{"an unknown method", "POST", "/tidemark.query.v1.QueryService/GetUnreads", "application/json", "{}",
			404, "unimplemented", `there is no method "/tidemark.query.v1.QueryService/GetUnreads" here; there are /tidemark`},
		{"an unknown path", "GET", "/", "", "", 404, "unimplemented", `there is no method "/" here`},
		{"a service that is not served", "POST", "/tidemark.ingest.v1.IngestService/Publish", "application/json", "{}",
			404, "unimplemented", "there is no method"},
		{"PUT", "PUT", unread, "application/json", valid, 405, "unimplemented", `"PUT" is not for calls, send a POST`},
		{"GET of a stream", "GET", watch, "", "", 405, "unimplemented", "send a POST"},
		{"no content type", "POST", unread, "", valid, 415, "invalid_argument", "the request has no Content-Type: send application/json"},
		{"a form", "POST", unread, "application/x-www-form-urlencoded", valid,
			415, "invalid_argument", `Content-Type "application/x-www-form-urlencoded" is not supported: send application/json`},
		{"another charset", "POST", unread, "application/json; charset=latin1", valid, 415, "invalid_argument", `charset "latin1" is not supported`},
		{"plain JSON to a stream", "POST", watch, "application/json", valid,
			415, "invalid_argument", "send application/connect+json (or application/connect+proto, or gRPC), for this method streams"},
		{"a body beyond the limit", "POST", unread, "application/json", strings.Repeat(" ", maxQueryBody+1),
			413, "resource_exhausted", "the body has 1048577 bytes, the limit is 1048576"},
		{"bad JSON", "POST", unread, "application/json", "{", 400, "invalid_argument", "not a JSON GetUnreadRequest: unexpected EOF"},
		{"an unknown field", "POST", unread, "application/json", `{"user":"a"}`, 400, "invalid_argument", `unknown field "user" at line 1:2; GetUnreadRequest has user_id, channel_id, after`},
		{"an empty body", "POST", unread, "application/json", "", 400, "invalid_argument", "the body is empty, want a JSON object"},
		{"a missing field", "POST", unread, "application/json", `{"user_id":"a"}`, 400, "invalid_argument", "channel_id is missing"},
		{"an oversized id", "POST", unread, "application/json", `{"user_id":"` + strings.Repeat("x", 256) + `","channel_id":"c"}`,
			400, "invalid_argument", "user_id has 256 bytes, the limit is 255"},
		{"a control character", "POST", unread, "application/json", `{"user_id":"a\u0000b","channel_id":"c"}`,
			400, "invalid_argument", "user_id has a control character"},
		{"a page too long", "POST", "/tidemark.query.v1.QueryService/GetInbox", "application/json", `{"user_id":"a","page_size":1001}`,
			400, "invalid_argument", "page_size is 1001, the limit is 1000"},
		{"no partition count yet", "POST", unread, "application/json; charset=UTF-8", valid, 503, "unavailable", "has not joined its group yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, srv.URL+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if c.contentType != "" {
				req.Header.Set("Content-Type", c.contentType)
			}
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Code, Message string }
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatalf("%d with no JSON: %q", res.StatusCode, body)
			}
			if res.StatusCode != c.status || got.Code != c.code || !strings.Contains(got.Message, c.message) {
				t.Errorf("got %d %s\nwant %d %s … %s", res.StatusCode, body, c.status, c.code, c.message)
			}
			if strings.Contains(strings.TrimSpace(got.Message), "\n") {
				t.Errorf("more than a sentence: %q", got.Message)
			}
			if c.status == 503 && res.Header.Get("Retry-After") != "1" {
				t.Errorf("unavailable without a retry hint: %v", res.Header)
			}
		})
	}
}

// A body without a stated length is cut off at the limit, and so is one that only grows beyond it
// when decompressed.
func TestBodyLimitWithoutLength(t *testing.T) {
	srv := serve(t, Handler(Config{Node: noNode{}}))
	body := io.MultiReader(strings.NewReader(`{"user_id":"`), io.LimitReader(endless{}, maxQueryBody))
	res, err := srv.Client().Post(srv.URL+"/tidemark.query.v1.QueryService/GetUnread", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, _ := io.ReadAll(res.Body)
	if res.StatusCode != 429 || !strings.Contains(string(got), "larger than configured max 1048576") {
		t.Errorf("got %d %s", res.StatusCode, got)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}
