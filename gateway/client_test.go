package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// patience is how long a test waits for a required frame.
const patience = 2 * time.Minute

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// start runs everything in this process.
func start(t testing.TB, c dev.Config) *dev.Stack {
	t.Helper()
	s, err := dev.Start(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("stack: %v", err)
		}
	})
	if err := s.AwaitReady(within(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

// frame is a frame as a client sees it.
type frame map[string]any

func (f frame) text(path string) string { v, _ := f.at(path).(string); return v }
func (f frame) number(path string) int  { v, _ := f.at(path).(float64); return int(v) }
func (f frame) is(kind, ch string) bool {
	return f["type"] == kind && (ch == "" || f["channel_id"] == ch)
}
func (f frame) list(path string) []any { v, _ := f.at(path).([]any); return v }
func (f frame) at(path string) (v any) {
	v = map[string]any(f)
	for part := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[part]
	}
	return v
}

// client is one device. It takes frames, and answers pings, while the test does other work. The
// gateway drops a device that does not as too slow. On a slow machine this would happen to a test
// that writes for half a minute.
type client struct {
	t    testing.TB
	ws   *websocket.Conn
	seen []frame
	read int // frames of seen that until has skipped
	ids  int
	came chan arrival // nil: it takes a frame only when the test asks for one
}

// arrival is a frame, or the reason why there are no more.
type arrival struct {
	body []byte
	err  error
}

// maxArrivals is how many frames a device may be ahead of its test.
const maxArrivals = 10_000

// take passes on frames until the connection ends.
func (c *client) take() {
	for {
		_, b, err := c.ws.Read(context.Background())
		c.came <- arrival{b, err}
		if err != nil {
			close(c.came)
			return
		}
	}
}

// receive is the next frame, or the end.
func (c *client) receive() ([]byte, error) {
	ctx := within(c.t)
	if c.came == nil {
		_, b, err := c.ws.Read(ctx)
		return b, err
	}
	select {
	case a, more := <-c.came:
		if !more {
			return nil, net.ErrClosed
		}
		return a.body, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("nothing came within %v", patience)
	}
}

// dialed connects and reads hello and inbox.
func dialed(t testing.TB, url, user string) *client {
	t.Helper()
	c := dial(t, url+"/v1/socket?user_id="+user, nil)
	c.until("hello", "")
	c.until("inbox", "")
	return c
}

func dial(t testing.TB, url string, o *websocket.DialOptions) *client {
	t.Helper()
	c := idle(t, url, o)
	c.came = make(chan arrival, maxArrivals)
	go c.take()
	return c
}

// idle is a device that takes no frames and pings unless the test wants one.
func idle(t testing.TB, url string, o *websocket.DialOptions) *client {
	t.Helper()
	ws, res, err := websocket.Dial(within(t), url, o) //nolint:bodyclose // Dial sees to it
	if err != nil {
		t.Fatalf("dial: %v (%v)", err, res)
	}
	ws.SetReadLimit(16 << 20)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return &client{t: t, ws: ws}
}

// next is the next frame.
func (c *client) next() frame {
	c.t.Helper()
	b, err := c.receive()
	if err != nil {
		c.t.Fatalf("%v; frames so far: %v", err, c.seen)
	}
	return c.note(b)
}

// note notes a frame that came.
func (c *client) note(b []byte) frame {
	c.t.Helper()
	var f frame
	if err := json.Unmarshal(b, &f); err != nil {
		c.t.Fatalf("frame %s: %v", b, err)
	}
	c.seen = append(c.seen, f)
	return f
}

// until reads up to a frame of a kind, of a channel if one is given, that fulfils all conditions.
// It continues where the last call ended, including frames that came while a command was answered.
func (c *client) until(kind, channel string, where ...func(frame) bool) frame {
	c.t.Helper()
	for {
		if c.read == len(c.seen) {
			c.next()
		}
		f := c.seen[c.read]
		c.read++
		ok := f.is(kind, channel)
		for _, w := range where {
			ok = ok && w(f)
		}
		if ok {
			return f
		}
	}
}

// send sends a frame without waiting.
func (c *client) send(format string, args ...any) {
	c.t.Helper()
	if err := c.ws.Write(within(c.t), websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		c.t.Fatal(err)
	}
}

// do sends a command, given as its fields, and returns its answer. Earlier frames are in seen.
func (c *client) do(kind, fields string) frame {
	c.t.Helper()
	c.ids++
	id := fmt.Sprintf("%s-%d", kind, c.ids)
	if fields != "" {
		fields = "," + fields
	}
	c.send(`{"type":%q,"id":%q%s}`, kind, id, fields)
	for {
		if f := c.next(); f["id"] == id {
			return f
		}
	}
}

// sees reports whether a frame of a kind was seen.
func (c *client) sees(kind, channel string) bool {
	for _, f := range c.seen {
		if f.is(kind, channel) {
			return true
		}
	}
	return false
}

// closed reads until the connection ends, and returns the code.
func (c *client) closed() websocket.StatusCode {
	c.t.Helper()
	for {
		b, err := c.receive()
		if err != nil {
			return websocket.CloseStatus(err)
		}
		var f frame
		if json.Unmarshal(b, &f) == nil {
			c.seen = append(c.seen, f)
		}
	}
}

// emit publishes events, each as JSON of an ingest event, and returns their tokens.
func emit(t testing.TB, url string, list ...string) []string {
	t.Helper()
	req := &ingestv1.PublishRequest{}
	for _, s := range list {
		var e ingestv1.Event
		if err := protojson.Unmarshal([]byte(s), &e); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		req.Events = append(req.Events, &e)
	}
	res, err := ingestv1connect.NewIngestServiceClient(http.DefaultClient, url).Publish(within(t), connect.NewRequest(req))
	if err != nil {
		t.Fatal(err)
	}
	return res.Msg.After
}

// folded publishes events and waits until they are folded, as a member of a channel would see it.
func folded(t testing.TB, url, user, channel string, list ...string) {
	t.Helper()
	req := connect.NewRequest(&queryv1.GetUnreadRequest{UserId: user, ChannelId: channel, After: emit(t, url, list...)})
	if _, err := queryv1connect.NewQueryServiceClient(http.DefaultClient, url).GetUnread(within(t), req); err != nil {
		t.Fatal(err)
	}
}

func joined(channel string, users ...string) string {
	b, _ := json.Marshal(users)
	return fmt.Sprintf(`{"message":{"channel_id":%q,"members_joined":{"user_ids":%s}}}`, channel, b)
}

func left(channel string, users ...string) string {
	b, _ := json.Marshal(users)
	return fmt.Sprintf(`{"message":{"channel_id":%q,"members_left":{"user_ids":%s}}}`, channel, b)
}

func posted(channel, id, sender string) string {
	return fmt.Sprintf(`{"message":{"channel_id":%q,"message_posted":{"message_id":%q,"sender_id":%q,"preview":"text of %s"}}}`,
		channel, id, sender, id)
}

func id(want string) func(frame) bool { return func(f frame) bool { return f["message_id"] == want } }
func unreadIs(n int) func(frame) bool { return func(f frame) bool { return f.number("unread") == n } }
func totalUnread(n int) func(frame) bool {
	return func(f frame) bool { return f.number("totals.unread") == n }
}
