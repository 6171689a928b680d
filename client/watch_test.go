package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// A watch that breaks continues: the next stream includes at least the records that the previous
// one has shown.
func TestWatchGoesOn(t *testing.T) {
	var asked [][]string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(body) < 5 {
			t.Errorf("request %q, %v", body, err)
			return
		}
		var q struct{ After []string }
		if err := json.Unmarshal(body[5:], &q); err != nil {
			t.Error(err)
		}
		asked = append(asked, q.After)
		send := func(format string, args ...any) { _, _ = w.Write(envelope(fmt.Appendf(nil, format, args...))) }
		switch len(asked) {
		case 1:
			w.WriteHeader(503)
		case 2:
			send(`{"snapshot":{"totals":{"badge":1}},"as_of":["chat.messages/0/1","chat.messages/1/1"]}`)
			send(`{}`) // a heartbeat
			send(`{"update":{"channel":{"channel_id":"c"},"totals":{"badge":2}},"as_of":["chat.messages/0/5"]}`)
		case 3:
			send(`{"snapshot":{"totals":{"badge":3}},"as_of":["chat.messages/0/6"]}`)
			text := []byte(`{"error":{"code":"permission_denied","message":"no"}}`)
			end := envelope(text)
			end[0] = flagEnd
			_, _ = w.Write(end)
		}
	}))
	defer s.Close()
	c, err := New(Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	var badges []int
	var last error
	for e, err := range c.Watch(limit(t), "ann", "chat.reads/0/3") {
		switch {
		case err != nil:
			last = err
		case e.Snapshot != nil:
			badges = append(badges, e.Snapshot.Totals.Badge)
		default:
			badges = append(badges, e.Update.Totals.Badge)
		}
	}
	if !slices.Equal(badges, []int{1, 2, 3}) || CodeOf(last) != PermissionDenied {
		t.Errorf("badges %v, then %v", badges, last)
	}
	if want := []string{"chat.reads/0/3", "chat.messages/0/5", "chat.messages/1/1"}; len(asked) != 3 || !slices.Equal(asked[2], want) {
		t.Errorf("asked after %v, want %v", asked, want)
	}
}

func TestWatchEndsWithItsLoop(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(envelope([]byte(`{"snapshot":{"totals":{}}}`)))
		w.(http.Flusher).Flush() //nolint:forcetypeassert // of net/http
		<-r.Context().Done()
	}))
	defer s.Close()
	c, err := New(Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	for _, err := range c.Watch(limit(t), "ann") {
		if events++; err != nil {
			t.Error(err)
		}
		break
	}
	if events != 1 {
		t.Errorf("%d events", events)
	}
}
