package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const hello = `{"type":"hello","user_id":"ann","instance_id":"i%d","limits":{"frame_bytes":1000,"message_ids":3}}`

func inboxFrame(unread int) string {
	return fmt.Sprintf(`{"type":"inbox","channels":[{"channel_id":"c","member":true,"unread":%d,"latest":{"seq":7}}],"threads":[],"totals":{"badge":%d}}`, unread, unread)
}

// gateway runs a script for each connection; the last script runs for all later ones.
type gateway struct {
	t       *testing.T
	url     string
	scripts []func(*socket)

	mu    sync.Mutex
	paths []string
	auth  []string
	got   []command
	n     int
}

type socket struct {
	*gateway
	ctx  context.Context
	conn *websocket.Conn
	n    int
}

func newGateway(t *testing.T, scripts ...func(*socket)) *gateway {
	t.Helper()
	g := &gateway{t: t, scripts: scripts}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.CloseNow() }()
		g.mu.Lock()
		g.paths, g.auth = append(g.paths, r.URL.String()), append(g.auth, r.Header.Get("Authorization"))
		script := g.scripts[min(g.n, len(g.scripts)-1)]
		g.n++
		n := g.n
		g.mu.Unlock()
		script(&socket{g, r.Context(), conn, n})
	}))
	t.Cleanup(s.Close)
	g.url = s.URL
	return g
}

func (s *socket) send(frames ...string) {
	for _, f := range frames {
		_ = s.conn.Write(s.ctx, websocket.MessageText, []byte(f))
	}
}

// take returns the next frame; one without a type if the connection has ended.
func (s *socket) take() (c command) {
	_, text, err := s.conn.Read(s.ctx)
	if err != nil {
		return c
	}
	if err := json.Unmarshal(text, &c); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, c)
	return c
}

func (s *socket) ack(c command, after string) {
	s.send(fmt.Sprintf(`{"type":"ack","id":%q,"after":[%q]}`, c.ID, after))
}

func (g *gateway) types() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []string
	for _, c := range g.got {
		list = append(list, c.Type)
	}
	return list
}

func welcome(s *socket) {
	s.send(fmt.Sprintf(hello, s.n), inboxFrame(1))
	for s.take().Type != "" {
	}
}

func connect(t *testing.T, g *gateway, more DeviceConfig) *Device {
	t.Helper()
	more.URL, more.User, more.least, more.most = g.url, "ann", 10*time.Millisecond, 20*time.Millisecond
	d, err := Connect(more)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func ready(t *testing.T, d *Device) Inbox {
	t.Helper()
	i, err := d.Ready(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestASnapshotBeforeABadge(t *testing.T) {
	begin := make(chan struct{})
	g := newGateway(t, func(s *socket) {
		<-begin
		welcome(s)
	})
	d := connect(t, g, DeviceConfig{Token: Token("t1")})
	if n, known := d.Inbox().Badge(); known || n != 0 || d.State() != Connecting {
		t.Errorf("badge %d, %t; %s", n, known, d.State())
	}
	close(begin)
	n, known := ready(t, d).Badge()
	if user, _ := d.Who(); n != 1 || !known || user != "ann" || d.State() != Open {
		t.Errorf("badge %d, %t of %s; %s", n, known, user, d.State())
	}
	if g.paths[0] != "/v1/socket?user_id=ann" || g.auth[0] != "Bearer t1" {
		t.Errorf("asked %s with %q", g.paths[0], g.auth[0])
	}
	d.Close()
	if d.State() != Gone {
		t.Errorf("state %s", d.State())
	}
	if err := d.Sync(limit(t)); CodeOf(err) != Closed {
		t.Errorf("%v", err)
	}
}

func TestACommandWithoutAnAnswerIsSentAgainBehindTheFocus(t *testing.T) {
	lost := make(chan string, 10)
	g := newGateway(t, func(s *socket) {
		s.send(fmt.Sprintf(hello, 1), inboxFrame(1))
		for s.take().Type != "mark_unread" {
		}
		_ = s.conn.Close(1012, "restart")
	}, func(s *socket) {
		s.send(fmt.Sprintf(hello, 2), inboxFrame(2))
		for c := s.take(); c.Type != ""; c = s.take() {
			s.ack(c, "chat.reads/0/1")
		}
	})
	tokens := 0
	d := connect(t, g, DeviceConfig{
		Token:  func(context.Context) (string, error) { tokens++; return fmt.Sprint("t", tokens), nil },
		OnLost: func(code int, reason string, _ time.Duration) { lost <- fmt.Sprint(code, " ", reason) },
	})
	ready(t, d)
	d.Focus("c", "")
	after, err := d.MarkUnread(limit(t), "c", MarkedUnread{MessageID: "m1"})
	if err != nil || !slices.Equal(after, []string{"chat.reads/0/1"}) {
		t.Fatalf("%v, %v", after, err)
	}
	if _, instance := d.Who(); instance != "i2" {
		t.Errorf("instance %s", instance)
	}
	if got, want := g.types(), []string{"channel.focus", "mark_unread", "channel.focus", "mark_unread"}; !slices.Equal(got, want) {
		t.Errorf("frames %v", got)
	}
	if head := g.got[3].HeadSeq; head != 7 {
		t.Errorf("head_seq %d", head)
	}
	if got := <-lost; got != "1012 restart" {
		t.Errorf("lost: %s", got)
	}
	if !slices.Equal(g.auth, []string{"Bearer t1", "Bearer t2"}) {
		t.Errorf("tokens %v", g.auth)
	}
}

func TestWhatWasRefusedAsOneTooManyIsSentAgainInOrder(t *testing.T) {
	first := make(chan struct{})
	g := newGateway(t, func(s *socket) {
		s.send(fmt.Sprintf(hello, 1), inboxFrame(1))
		a := s.take()
		close(first)
		b := s.take()
		s.send(fmt.Sprintf(`{"type":"error","id":%q,"code":"resource_exhausted","message":"too many frames"}`, a.ID))
		s.ack(b, "of a name that is none any more")
		for c := s.take(); c.Type != ""; c = s.take() {
			s.ack(c, c.MessageID)
		}
	})
	d := connect(t, g, DeviceConfig{})
	ready(t, d)
	var both sync.WaitGroup
	var marked, read []string
	both.Go(func() { marked, _ = d.MarkUnread(limit(t), "c", MarkedUnread{MessageID: "m1"}) })
	<-first
	both.Go(func() { read, _ = d.MarkRead(limit(t), "c", ReadUpTo{MessageID: "m2"}) })
	both.Wait()
	if !slices.Equal(marked, []string{"m1"}) || !slices.Equal(read, []string{"m2"}) {
		t.Errorf("answers %v, %v", marked, read)
	}
	if got, want := g.types(), []string{"mark_unread", "mark_read", "mark_unread", "mark_read"}; !slices.Equal(got, want) {
		t.Errorf("frames %v", got)
	}
	ids := map[string]bool{}
	for _, c := range g.got {
		ids[c.ID] = true
	}
	if len(ids) != 4 {
		t.Errorf("ids %v", ids)
	}
}

func TestErrorsOfCommands(t *testing.T) {
	away := httptest.NewServer(http.NotFoundHandler())
	defer away.Close()
	asleep, err := Connect(DeviceConfig{URL: away.URL, CommandTimeout: 50 * time.Millisecond, MaxPending: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer asleep.Close()
	if _, err := asleep.MarkRead(limit(t), "c", ReadUpTo{MessageID: "m1"}); CodeOf(err) != Timeout {
		t.Errorf("without a connection: %v", err)
	}

	g := newGateway(t, func(s *socket) {
		s.send(fmt.Sprintf(hello, 1), inboxFrame(1))
		for c := s.take(); c.Type != ""; c = s.take() {
			if c.ChannelID == "secret" {
				s.send(fmt.Sprintf(`{"type":"error","id":%q,"code":"not_found","message":"no such channel"}`, c.ID))
			}
		}
	})
	d := connect(t, g, DeviceConfig{MaxPending: 1})
	ready(t, d)
	if _, err := d.MarkRead(limit(t), "secret", ReadUpTo{MessageID: "m1"}); CodeOf(err) != NotFound {
		t.Errorf("%v", err)
	}
	if _, err := d.MarkRead(limit(t), "c", ReadUpTo{MessageID: strings.Repeat("m", 2000)}); CodeOf(err) != ResourceExhausted {
		t.Errorf("%v", err)
	}
	ended := make(chan error)
	go func() { ended <- d.Sync(limit(t)) }()
	for !slices.Contains(g.types(), "sync") {
		if limit(t).Err() != nil {
			t.Fatal("no sync came")
		}
		time.Sleep(time.Millisecond)
	}
	if err := d.Sync(limit(t)); CodeOf(err) != Overflow {
		t.Errorf("%v", err)
	}
	d.Close()
	if err := <-ended; CodeOf(err) != Closed {
		t.Errorf("%v", err)
	}
}

func TestASilentGatewayIsAskedAndThenGivenUp(t *testing.T) {
	lost := make(chan string, 100)
	g := newGateway(t, func(s *socket) {
		s.send(fmt.Sprintf(hello, 1), inboxFrame(1))
		for s.take().Type != "" {
		}
	})
	connect(t, g, DeviceConfig{
		QuietTimeout: 20 * time.Millisecond, AnswerTimeout: 500 * time.Millisecond,
		OnLost: func(_ int, reason string, _ time.Duration) {
			select {
			case lost <- reason:
			default:
			}
		},
	})
	ctx := limit(t)
	for asked := false; !asked; asked = slices.Contains(g.types(), "sync") {
		select {
		case reason := <-lost: // the first may be of a handshake that a busy machine did not make in time
			t.Log(reason)
		case <-ctx.Done():
			t.Fatal("it was never given up")
		}
	}
}

func TestAGatewayThatSaysNonsenseIsLeft(t *testing.T) {
	lost := make(chan int, 100)
	g := newGateway(t, func(s *socket) {
		s.send("[1]")
		s.take()
	}, welcome)
	d := connect(t, g, DeviceConfig{OnLost: func(code int, _ string, _ time.Duration) { lost <- code }})
	ready(t, d)
	if code := <-lost; code != 1003 {
		t.Errorf("code %d", code)
	}
}

func TestInboxesShowTheNewest(t *testing.T) {
	more := make(chan struct{})
	g := newGateway(t, func(s *socket) {
		s.send(fmt.Sprintf(hello, 1), inboxFrame(1))
		<-more
		s.send(`{"type":"unread.updated","channel_id":"c","member":true,"unread":5,"totals":{"badge":5}}`)
		s.take()
	})
	frames := make(chan string, 10)
	d := connect(t, g, DeviceConfig{OnFrame: func(f Frame) { frames <- f.Type }})
	var badges []int
	for i := range d.Inboxes(limit(t)) {
		n, _ := i.Badge()
		badges = append(badges, n)
		if n == 5 {
			break
		}
		close(more)
	}
	if !slices.Equal(badges, []int{1, 5}) {
		t.Errorf("badges %v", badges)
	}
	for _, want := range []string{"hello", "inbox", "unread.updated"} {
		if got := <-frames; got != want {
			t.Errorf("frame %s, want %s", got, want)
		}
	}
}
