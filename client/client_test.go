package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// limit ends with the test, or after two minutes: the machine may be busy.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// node answers calls as the test wants.
type node struct {
	mu    sync.Mutex
	calls []string // methods and requests
	token []string
	http.Handler
}

func start(t *testing.T, answer func(n int, method string, w http.ResponseWriter)) (*node, *Client) {
	t.Helper()
	n := &node{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		method := filepath.Base(r.URL.Path)
		n.mu.Lock()
		n.calls = append(n.calls, method+" "+string(request))
		n.token = append(n.token, r.Header.Get("Authorization"))
		count := len(n.calls)
		n.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		answer(count, method, w)
	}))
	t.Cleanup(s.Close)
	tokens := 0
	c, err := New(Config{URL: s.URL + "/", Tries: 3, Token: func(context.Context) (string, error) { tokens++; return fmt.Sprint("t", tokens), nil }})
	if err != nil {
		t.Fatal(err)
	}
	return n, c
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"code":%q,"message":"not now"}`, code)
}

func TestReadsAreTriedAgainWithANewToken(t *testing.T) {
	n, c := start(t, func(n int, _ string, w http.ResponseWriter) {
		if n < 3 {
			refuse(w, 503, Unavailable)
			return
		}
		_, _ = fmt.Fprint(w, `{"channel_id":"general","unread":7,"newer":{"field":1}}`)
	})
	got, err := c.Unread(limit(t), "ann", "general", "chat.reads/0/7", "chat.reads/0/9")
	if err != nil || got.Unread != 7 {
		t.Fatalf("%+v, %v", got, err)
	}
	want := `GetUnread {"after":["chat.reads/0/9"],"user_id":"ann","channel_id":"general"}`
	if !slices.Equal(n.calls, []string{want, want, want}) {
		t.Errorf("calls: %q", n.calls)
	}
	if want := []string{"Bearer t1", "Bearer t2", "Bearer t3"}; !slices.Equal(n.token, want) {
		t.Errorf("tokens: %q", n.token)
	}
}

func TestReadsThatDoNotPassAreReturned(t *testing.T) {
	for code, status := range map[string]int{Unavailable: 503, NotFound: 404, ResourceExhausted: 413} {
		n, c := start(t, func(_ int, _ string, w http.ResponseWriter) { refuse(w, status, code) })
		want := 1
		if code == Unavailable {
			want = 3
		}
		if _, err := c.Channel(limit(t), "general"); CodeOf(fmt.Errorf("asked: %w", err)) != code || len(n.calls) != want {
			t.Errorf("%s: %v after %d calls, want %d", code, err, len(n.calls), want)
		}
	}
}

// A write may have succeeded although its answer is an error.
func TestWritesAreTriedOnce(t *testing.T) {
	n, c := start(t, func(_ int, _ string, w http.ResponseWriter) { refuse(w, 503, Unavailable) })
	_, err1 := c.Read(limit(t), "ann", "general", ReadUpTo{MessageID: "m1"})
	_, err2 := c.MarkAllRead(limit(t), "ann", MarkAll{Label: "work", Threads: true, After: []string{"chat.messages/0/1", "chat.messages/0/2"}})
	if CodeOf(err1) != Unavailable || CodeOf(err2) != Unavailable {
		t.Errorf("%v; %v", err1, err2)
	}
	want := []string{
		`Publish {"events":[{"read":{"channel_id":"general","read_up_to":{"message_id":"m1"},"user_id":"ann"}}]}`,
		`MarkAllRead {"user_id":"ann","label":"work","threads":true,"after":["chat.messages/0/2"]}`,
	}
	if !slices.Equal(n.calls, want) {
		t.Errorf("calls: %q", n.calls)
	}
}

func TestWhoIsNoNode(t *testing.T) {
	_, c := start(t, func(_ int, _ string, w http.ResponseWriter) { _, _ = fmt.Fprint(w, "<html>") })
	if _, err := c.Inbox(limit(t), "ann", Inboxes{}); CodeOf(err) != Unknown || !strings.Contains(err.Error(), "not that of a node") {
		t.Errorf("%v", err)
	}
	for _, url := range []string{"", "nowhere", "ws://127.0.0.1"} {
		if _, err := New(Config{URL: url}); err == nil {
			t.Errorf("a client of %q was made", url)
		}
		if _, err := Connect(DeviceConfig{URL: "ftp://" + url}); err == nil {
			t.Errorf("a device of %q was made", url)
		}
	}
	nobody, err := New(Config{URL: "http://127.0.0.1:1", Tries: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nobody.Channel(limit(t), "general"); CodeOf(err) != Unavailable {
		t.Errorf("%v", err)
	}
}

// A call ends with its context, and its error says so.
func TestCallsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(limit(t))
	_, c := start(t, func(_ int, _ string, w http.ResponseWriter) {
		cancel()
		refuse(w, 503, Unavailable)
	})
	if _, err := c.Channel(ctx, "general"); err == nil {
		t.Error("no error")
	}
}

func TestTokensComeFromFilesThatChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	source := TokenFile(path)
	for _, token := range []string{"one", "two"} {
		if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := source(t.Context()); got != token || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	c, err := New(Config{URL: "http://127.0.0.1:1", Token: TokenFile(path + ".gone")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Channel(limit(t), "general"); err == nil || !strings.Contains(err.Error(), "no token") {
		t.Errorf("%v", err)
	}
}
