package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// watchStep is a step of clients/conformance/watches.json: one of the first fields is set.
type watchStep struct {
	Accepts string // a token
	Sends   []json.RawMessage
	Cuts    json.RawMessage
	Refuses int
	Ends    *string
	Breaks  bool
	Leaves  bool
	Passes  float64
	Shows   *int
	Fails   string

	After      []string // of accepts
	Waited     float64
	Code       string // of refuses
	RetryAfter int    `json:"retry_after"`
}

// streamed is a stream of a watch: a request that the test answers.
type streamed struct {
	token string
	after []string
	http.ResponseWriter
	left <-chan struct{}
	done chan bool // true: cut the connection
}

// watching plays the node of a watch.
type watching struct {
	*testing.T
	streams chan *streamed
	stream  *streamed
	ended   time.Time // the last stream
	shown   chan int
	failed  chan error
}

func TestWatches(t *testing.T) {
	for _, v := range vectors[[]struct {
		Name   string
		After  []string
		Timing timing
		Steps  []watchStep
	}](t, "watches.json") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel() // some wait for a timeout
			w := &watching{T: t, streams: make(chan *streamed), shown: make(chan int, 100), failed: make(chan error, 1)}
			server := httptest.NewServer(w)
			t.Cleanup(server.Close)
			n := 0
			c, err := New(Config{URL: server.URL, Token: func(context.Context) (string, error) { n++; return fmt.Sprint("t", n), nil }})
			if err != nil {
				t.Fatal(err)
			}
			c.quiet = cmp.Or(seconds(v.Timing.Quiet), c.quiet)
			ctx := limit(t)
			go func() {
				for e, err := range c.Watch(ctx, "ann", v.After...) {
					switch {
					case err != nil:
						w.failed <- err
					case e.Snapshot != nil:
						w.shown <- e.Snapshot.Totals.Badge
					default:
						w.shown <- e.Update.Totals.Badge
					}
				}
			}()
			for _, step := range v.Steps {
				w.play(step)
			}
		})
	}
}

func (w *watching) ServeHTTP(res http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || len(body) < 5 {
		w.Errorf("request %q, %v", body, err)
		return
	}
	var q struct {
		User  string `json:"user_id"`
		After []string
	}
	if err := json.Unmarshal(body[5:], &q); err != nil || q.User != "ann" {
		w.Errorf("request %s, %v", body[5:], err)
	}
	s := &streamed{r.Header.Get("Authorization"), q.After, res, r.Context().Done(), make(chan bool)}
	select {
	case w.streams <- s:
	case <-w.Context().Done():
		return
	}
	select {
	case cut := <-s.done:
		if cut {
			panic(http.ErrAbortHandler)
		}
	case <-w.Context().Done():
	}
}

func (w *watching) play(p watchStep) {
	w.Helper()
	switch {
	case p.Accepts != "":
		w.stream = next(w, "a stream", w.streams)
		slices.Sort(w.stream.after)
		slices.Sort(p.After)
		if w.stream.token != "Bearer "+p.Accepts || !slices.Equal(w.stream.after, p.After) {
			w.Errorf("it comes with %q, after %q; want %s, %q", w.stream.token, w.stream.after, p.Accepts, p.After)
		}
		if waited := time.Since(w.ended); waited < seconds(p.Waited) {
			w.Errorf("it comes after %s, want %g s", waited, p.Waited)
		}
	case p.Sends != nil:
		for _, m := range p.Sends {
			w.write(envelope(m))
		}
	case p.Cuts != nil:
		text := envelope(p.Cuts)
		w.write(text[:len(text)/2])
		w.end(true)
	case p.Refuses != 0:
		if p.RetryAfter != 0 {
			w.stream.Header().Set("Retry-After", fmt.Sprint(p.RetryAfter))
		}
		w.stream.WriteHeader(p.Refuses)
		_, _ = fmt.Fprintf(w.stream, `{"code": %q, "message": "planned"}`, p.Code)
		w.end(false)
	case p.Ends != nil:
		text := "{}"
		if *p.Ends != "" {
			text = fmt.Sprintf(`{"error": {"code": %q, "message": "planned"}}`, *p.Ends)
		}
		last := envelope([]byte(text))
		last[0] = flagEnd
		w.write(last)
		w.end(false)
	case p.Breaks:
		w.end(true)
	case p.Leaves:
		next(w, "it leaves", w.stream.left)
		w.end(false)
	case p.Passes != 0:
		time.Sleep(seconds(p.Passes))
	case p.Shows != nil:
		if got := next(w, "an event", w.shown); got != *p.Shows {
			w.Fatalf("it shows %d, want %d", got, *p.Shows)
		}
	case p.Fails != "":
		if err := next(w, "an error", w.failed); CodeOf(err) != p.Fails {
			w.Errorf("it ends with %v, want %s", err, p.Fails)
		}
		if len(w.shown) > 0 {
			w.Errorf("it shows %d, too", <-w.shown)
		}
	default:
		w.Fatalf("an unknown step: %+v", p)
	}
}

func (w *watching) write(text []byte) {
	w.Helper()
	_, err := io.Copy(w.stream, bytes.NewReader(text))
	if err == nil {
		err = http.NewResponseController(w.stream.ResponseWriter).Flush()
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *watching) end(cut bool) {
	w.ended = time.Now()
	w.stream.done <- cut
}

// next waits for what the client does.
func next[T any](w *watching, what string, from <-chan T) (v T) {
	w.Helper()
	select {
	case v = <-from:
	case <-time.After(time.Minute):
		w.Fatalf("never: %s", what)
	}
	return v
}
