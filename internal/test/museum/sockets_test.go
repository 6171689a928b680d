package museum

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/twmb/franz-go/pkg/kfake"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/remote"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// Sockets are milliseconds behind the fold, as Redis is. Every user whom a story asks about has a
// socket from their first event on. At each question about a user, and at the end of the story, the
// test compares the state that the socket's frames add up to with the answers of the query service.

// sockets is the gateway of a site. It writes to a Kafka of its own, because a device reports
// messages as delivered, which the stories do not contain.
type sockets struct {
	site *site
	url  string
	open sync.Map // by name of a user on the wire: *socket
}

// newSockets starts a gateway that ends with the test.
func newSockets(t *testing.T, s *site) *sockets {
	t.Helper()
	elsewhere := testkit.FakeKafka(t, kfake.SeedTopics(partitions, s.topics.Inputs[events.Reads], s.topics.Inputs[events.Deliveries]))
	const unlimited = 1e6
	g, err := gateway.New(gateway.Config{
		Brokers: s.env.Brokers, Partitions: partitions, ThreadsAlways: s.always, ClientOptions: testkit.FastClientOpts(), DrainFor: time.Millisecond,
		Topics: gateway.Topics{
			Messages: s.topics.Inputs[events.Messages], Reads: s.topics.Inputs[events.Reads], Deliveries: s.topics.Inputs[events.Deliveries],
			Unread: s.topics.Unread, Channels: s.topics.Channels, Receipts: s.topics.Receipts,
		},
		Query: remote.Queries(func() queryv1connect.QueryServiceClient { return s.query }), Producer: testkit.Client(t, elsewhere.ListenAddrs()),
		Limits: gateway.Limits{
			HandshakesPerSecond: unlimited, HandshakesBurst: unlimited, FramesPerSecond: unlimited, FramesBurst: unlimited,
			WriteTimeout: patience, PongTimeout: patience, FrameTimeout: patience,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	k := &sockets{site: s, url: server.URL}
	t.Cleanup(func() {
		k.open.Range(func(_, v any) bool { v.(*socket).close(); return true })
		end()
		if err := <-done; err != nil {
			t.Errorf("the gateway ended with: %v", err)
		}
		server.Close()
	})
	if saw, ok := eventually(func() (bool, string) {
		ready, lines := g.Ready()
		return ready, strings.Join(lines, "; ")
	}); !ok {
		t.Fatalf("the gateway is not ready: %s", saw)
	}
	return k
}

// socket is a connected device and the state that its frames add up to.
type socket struct {
	ws    *websocket.Conn
	ended chan struct{}
	inbox chan struct{} // closed after the first inbox frame

	mu       sync.Mutex
	channels map[string]*queryv1.ChannelUnread
	threads  map[[2]string]*queryv1.ThreadUnread
	totals   *queryv1.Totals
	err      error
}

// connect opens a user's socket, once.
func (k *sockets) connect(l *tale, user string) {
	l.t.Helper()
	if _, there := k.open.Load(user); !there {
		k.open.Store(user, k.dial(l, user))
	}
}

// connect opens the sockets of the users whom the story asks about, once a record names them.
func (l *tale) connect() {
	l.t.Helper()
	if l.site.sockets == nil || l.rewrite {
		return
	}
	for name, user := range l.wire {
		if slices.Contains(l.asks, name) {
			l.site.sockets.connect(l, user)
		}
	}
}

// dial opens a user's socket and waits for the first inbox frame.
func (k *sockets) dial(l *tale, user string) *socket {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, k.url+"/v1/socket?user_id="+url.QueryEscape(user), nil) //nolint:bodyclose // Dial closes it
	if err != nil {
		l.t.Fatalf("%s: a socket for %s: %v", l.name, user, err)
	}
	ws.SetReadLimit(16 << 20)
	s := &socket{ws: ws, ended: make(chan struct{}), inbox: make(chan struct{})}
	go s.follow()
	select {
	case <-s.inbox:
	case <-s.ended:
		l.t.Fatalf("%s: the socket of %s ended: %v", l.name, user, s.err)
	case <-ctx.Done():
		l.t.Fatalf("%s: no inbox came for %s", l.name, user)
	}
	return s
}

func (s *socket) close() {
	_ = s.ws.CloseNow()
	<-s.ended
}

// follow applies frames until the connection ends.
func (s *socket) follow() {
	defer close(s.ended)
	for {
		_, body, err := s.ws.Read(context.Background())
		s.mu.Lock()
		if err == nil {
			err = s.take(body)
		}
		s.err = err
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// frames unmarshals frames, whose fields have the names of the query service's answers.
var loose = protojson.UnmarshalOptions{DiscardUnknown: true}

// take applies a frame as a client does. An inbox replaces everything, an update replaces one
// channel or thread, and both have the totals.
func (s *socket) take(body []byte) error {
	var f struct {
		Type              string
		Member, Followed  bool
		Thread            string            `json:"thread_id"`
		Channels, Threads []json.RawMessage // of an inbox
		Totals            json.RawMessage
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return fmt.Errorf("%w: %s", err, body)
	}
	var err error
	switch {
	case f.Type == "inbox":
		s.channels, s.threads = map[string]*queryv1.ChannelUnread{}, map[[2]string]*queryv1.ThreadUnread{}
		for _, c := range f.Channels {
			err = cmp.Or(err, s.takeChannel(c, true))
		}
		for _, t := range f.Threads {
			err = cmp.Or(err, s.takeThread(t, true))
		}
	case f.Type != "unread.updated":
		return nil
	case f.Thread != "":
		err = s.takeThread(body, f.Followed)
	default:
		err = s.takeChannel(body, f.Member)
	}
	s.totals = &queryv1.Totals{}
	if err = cmp.Or(err, loose.Unmarshal(f.Totals, s.totals)); err != nil {
		return fmt.Errorf("%w: %s", err, body)
	}
	if s.totals.Archived == nil { // frames leave zeros out
		s.totals.Archived = &queryv1.ArchivedTotals{}
	}
	if f.Type == "inbox" {
		select {
		case <-s.inbox:
		default:
			close(s.inbox)
		}
	}
	return nil
}

func (s *socket) takeChannel(body []byte, member bool) error {
	c := &queryv1.ChannelUnread{}
	if err := loose.Unmarshal(body, c); err != nil {
		return err
	}
	if s.channels[c.ChannelId] = c; !member {
		delete(s.channels, c.ChannelId)
	}
	return nil
}

func (s *socket) takeThread(body []byte, followed bool) error {
	t := &queryv1.ThreadUnread{}
	if err := loose.Unmarshal(body, t); err != nil {
		return err
	}
	id := [2]string{t.ChannelId, t.ThreadId}
	if s.threads[id] = t; !followed {
		delete(s.threads, id)
	}
	return nil
}

// pushed compares the state of a user's socket with the answers of the query service.
func (l *tale) pushed(user string) {
	l.t.Helper()
	if l.site.sockets == nil {
		return
	}
	v, there := l.site.sockets.open.Load(user)
	if !there {
		return
	}
	in := asked(l, l.site.query.GetInbox, &queryv1.GetInboxRequest{UserId: user, Archived: "all", PageSize: 1000, After: l.after})
	th := asked(l, l.site.query.GetThreads, &queryv1.GetThreadsRequest{UserId: user, PageSize: 1000, After: l.after})
	s := v.(*socket)
	if l.alone >= 0 && s.lists(len(th.Threads)+1) {
		// Days pass in this story. A thread that becomes too old leaves the list without a frame;
		// only the next inbox frame leaves it out. So connect again.
		s.close()
		s = l.site.sockets.dial(l, user)
		l.site.sockets.open.Store(user, s)
	}
	if saw, ok := eventually(func() (bool, string) {
		saw := s.differs(in, th, l.large)
		return saw == "", saw
	}); !ok {
		l.t.Errorf("%s: the socket of %s: %s", l.name, user, saw)
	}
}

// lists reports whether frames have listed at least n threads.
func (s *socket) lists(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.threads) >= n
}

// pushedAll calls pushed for all users of the story who have a socket.
func (l *tale) pushedAll() {
	l.t.Helper()
	for name, user := range l.wire {
		if name[0] != '#' {
			l.pushed(user)
		}
	}
}

// large reports whether a channel is large now.
func (l *tale) large(channel string) bool {
	l.t.Helper()
	return asked(l, l.site.query.GetChannel, &queryv1.GetChannelRequest{ChannelId: channel, After: l.after}).Large
}

// differs describes how the state of a socket differs from an inbox and a list of threads; "" if it
// does not.
func (s *socket) differs(in *queryv1.GetInboxResponse, th *queryv1.GetThreadsResponse, large func(string) bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err.Error()
	}
	var b bytes.Buffer
	differ := func(what string, got, want proto.Message) {
		fmt.Fprintf(&b, "%s: the frames have\n    %v\n  and the owners\n    %v\n", what, got, want)
	}
	left := len(s.channels)
	for _, c := range in.Channels {
		got := s.channels[c.ChannelId]
		if got == nil {
			fmt.Fprintf(&b, "no frame has %v\n", c)
			continue
		}
		if left--; !sameChannel(got, c, large) {
			differ(c.ChannelId, got, c)
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "frames have %d channels that the inbox does not have\n", left)
	}
	left = len(s.threads)
	for _, t := range th.Threads {
		got := s.threads[[2]string{t.ChannelId, t.ThreadId}]
		if got == nil {
			fmt.Fprintf(&b, "no frame has %v\n", t)
			continue
		}
		if left--; !sameThread(got, t) {
			differ(t.ThreadId, got, t)
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "frames have %d threads that are not listed\n", left)
	}
	if !proto.Equal(s.totals, in.Totals) {
		differ("totals", s.totals, in.Totals)
	}
	return b.String()
}

// sameChannel compares a channel. A frame has the line as the user set it, by id or by seq; an
// answer has both. In a large channel a frame leaves out the first unread message if the gateway
// does not know it.
func sameChannel(got, want *queryv1.ChannelUnread, large func(string) bool) bool {
	g, w := proto.CloneOf(got), proto.CloneOf(want)
	if (g.FirstUnread == nil && w.FirstUnread != nil || g.FirstMention == nil && w.FirstMention != nil) && large(w.ChannelId) {
		if g.FirstUnread == nil {
			w.FirstUnread = nil
		}
		if g.FirstMention == nil {
			w.FirstMention = nil
		}
	}
	if g.Line != nil && w.Line != nil {
		if g.Line.MessageId == "" {
			w.Line.MessageId = ""
		} else if g.Line.Seq == 0 {
			w.Line.Seq = 0
		}
	}
	return proto.Equal(g, w)
}

// sameThread compares a thread. Its frame does not have the fields of its channel.
func sameThread(got, want *queryv1.ThreadUnread) bool {
	g, w := proto.CloneOf(got), proto.CloneOf(want)
	g.Following = true
	g.Muted, g.Level, g.LevelAfter, g.Until, g.Archived = w.Muted, w.Level, w.LevelAfter, w.Until, w.Archived
	return proto.Equal(g, w)
}

// asks returns the words of a story's questions, which include all users that they name.
func asks(story string) (list []string) {
	for line := range strings.Lines(story) {
		if question, ok := strings.CutPrefix(strings.TrimSpace(line), "?"); ok {
			list = append(list, strings.Fields(question)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
