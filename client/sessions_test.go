package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// step is a step of clients/conformance/sessions.json: one of its fields is set.
type step struct {
	Accepts string
	Sends   []json.RawMessage
	Closes  int
	Leaves  bool
	Calls   struct{ Command, Channel, Message string }

	Receives map[string]any
	Answers  int
	After    []string
	Code     string

	Returns []string
	Fails   string
	Waits   *struct{ Least, Most float64 }
	Shows   *struct {
		Badge  *int
		Unread map[string]int
	}
}

// timing has the times of a session in seconds, 0 for those that it does not state.
type timing struct{ Quiet, Answer, Least, Most float64 }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// outcome is the result of a command.
type outcome struct {
	after []string
	err   error
}

// session plays the gateway of a session.
type session struct {
	*testing.T
	conns   chan *websocket.Conn
	conn    *websocket.Conn
	tokens  chan string
	device  *Device
	ids     []string        // of all frames that came, empty for those without
	used    map[string]bool // ids, on this connection
	replies []chan outcome
	waits   chan time.Duration // between connections, as the device states them
}

func TestSessions(t *testing.T) {
	for _, v := range vectors[[]struct {
		Name   string
		Timing timing
		Steps  []step
	}](t, "sessions.json") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel() // some wait for a timeout
			s := &session{T: t, conns: make(chan *websocket.Conn), tokens: make(chan string, 100), waits: make(chan time.Duration, 100)}
			ended := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				conn, err := websocket.Accept(w, r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				s.tokens <- r.Header.Get("Authorization") + r.URL.RawQuery
				select {
				case s.conns <- conn:
				case <-ended:
				}
				<-ended
			}))
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(ended) })
			n := 0
			d, err := Connect(DeviceConfig{
				URL: server.URL, QuietTimeout: seconds(v.Timing.Quiet), AnswerTimeout: seconds(v.Timing.Answer),
				least: cmp.Or(seconds(v.Timing.Least), time.Millisecond), most: cmp.Or(seconds(v.Timing.Most), 2*time.Millisecond),
				OnLost: func(_ int, _ string, wait time.Duration) { s.waits <- wait },
				Token:  func(context.Context) (string, error) { n++; return fmt.Sprint("t", n), nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(d.Close)
			s.device = d
			for _, step := range v.Steps {
				s.play(step)
			}
		})
	}
}

func (s *session) play(p step) {
	s.Helper()
	ctx := limit(s.T)
	switch {
	case p.Accepts != "":
		s.conn, s.used = <-s.conns, map[string]bool{}
		if got := <-s.tokens; got != "Bearer "+p.Accepts {
			s.Errorf("it comes with %q, want the token %s", got, p.Accepts)
		}
	case p.Sends != nil:
		for _, frame := range p.Sends {
			if text := ""; json.Unmarshal(frame, &text) == nil {
				frame = json.RawMessage(text)
			}
			if err := s.conn.Write(ctx, websocket.MessageText, frame); err != nil {
				s.Fatal(err)
			}
		}
	case p.Closes != 0:
		_ = s.conn.Close(websocket.StatusCode(p.Closes), "") // the device may be faster
	case p.Leaves:
		if _, text, err := s.conn.Read(ctx); err == nil || ctx.Err() != nil {
			s.Fatalf("it does not leave, but sends %s", text)
		}
	case p.Calls.Command != "":
		s.call(p)
	case p.Receives != nil:
		s.receive(ctx, p.Receives)
	case p.Answers != 0:
		frame := map[string]any{"type": "ack", "id": s.ids[p.Answers-1], "after": p.After}
		if p.Code != "" {
			frame = map[string]any{"type": "error", "id": s.ids[p.Answers-1], "code": p.Code, "message": "planned"}
		}
		text, err := json.Marshal(frame)
		if err == nil {
			err = s.conn.Write(ctx, websocket.MessageText, text)
		}
		if err != nil {
			s.Fatal(err)
		}
	case p.Returns != nil, p.Fails != "":
		r := <-s.replies[0]
		s.replies = s.replies[1:]
		if p.Fails != "" && CodeOf(r.err) != p.Fails || p.Fails == "" && (r.err != nil || !slices.Equal(r.after, p.Returns)) {
			s.Errorf("a command returns %v, %v; want %v, %s", r.after, r.err, p.Returns, p.Fails)
		}
	case p.Waits != nil:
		if wait := <-s.waits; wait < seconds(p.Waits.Least) || wait > seconds(p.Waits.Most) {
			s.Errorf("it waits for %s, want %g to %g s", wait, p.Waits.Least, p.Waits.Most)
		}
	case p.Shows != nil:
		s.shows(ctx, p)
	default:
		s.Fatalf("an unknown step: %+v", p)
	}
}

// call calls a command; a later step looks at what it returns.
func (s *session) call(p step) {
	s.Helper()
	c := p.Calls
	if c.Command == "focus" {
		s.device.Focus(c.Channel, "")
		return
	}
	if c.Command == "blur" {
		s.device.Blur(c.Channel, "")
		return
	}
	done := make(chan outcome, 1)
	s.replies = append(s.replies, done)
	go func() {
		var r outcome
		switch c.Command {
		case "mark_read":
			r.after, r.err = s.device.MarkRead(limit(s.T), c.Channel, ReadUpTo{MessageID: c.Message})
		case "mark_unread":
			r.after, r.err = s.device.MarkUnread(limit(s.T), c.Channel, MarkedUnread{MessageID: c.Message})
		default:
			r.err = fmt.Errorf("%s is unknown here", c.Command)
		}
		done <- r
	}()
}

// receive reads the next frame of the device. Its id, if it has one, is new.
func (s *session) receive(ctx context.Context, want map[string]any) {
	s.Helper()
	_, text, err := s.conn.Read(ctx)
	if err != nil {
		s.Fatalf("instead of %v: %v", want, err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		s.Fatal(err)
	}
	for name, value := range want {
		if !reflect.DeepEqual(got[name], value) {
			s.Fatalf("it sends %s, want %v", text, want)
		}
	}
	id, _ := got["id"].(string)
	if id != "" && s.used[id] {
		s.Errorf("it uses an id again: %s", text)
	}
	s.used[id] = true
	s.ids = append(s.ids, id)
}

// shows waits until the device shows the numbers. An unknown badge must be unknown at once.
func (s *session) shows(ctx context.Context, p step) {
	s.Helper()
	for {
		i := s.device.Inbox()
		badge, known := i.Badge()
		unread := map[string]int{}
		for id, c := range i.Channels {
			unread[id] = c.Unread
		}
		if p.Shows.Badge == nil && !known || p.Shows.Badge != nil && known && badge == *p.Shows.Badge && maps.Equal(unread, p.Shows.Unread) {
			return
		}
		if p.Shows.Badge == nil || ctx.Err() != nil {
			s.Fatalf("it shows %d (known: %t) and %v", badge, known, unread)
		}
		time.Sleep(time.Millisecond)
	}
}
