package query

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

func TestEveryNodeAnswersForEveryChannel(t *testing.T) {
	c := newCluster(t, 7, 3)
	for p := range int32(7) {
		channel := c.channelOn("c", p)
		c.join(channel, "ann")
		for i := range p {
			c.post(channel, fmt.Sprintf("m%d", i), "bob")
		}
	}
	for p := range int32(7) {
		channel := c.channelOn("c", p)
		want := c.nodes[0].unread(t, "ann", channel)
		if want.Unread != uint32(p) {
			t.Errorf("%s: unread %d, want %d", channel, want.Unread, p)
		}
		for _, n := range c.nodes[1:] {
			if got := n.unread(t, "ann", channel); !proto.Equal(got, want) {
				t.Errorf("node %d says %v, node 0 says %v", n.index, got, want)
			}
		}
	}
}

func TestAMovingPartitionIsUnavailable(t *testing.T) {
	c := newCluster(t, 2, 2)
	channel := c.channelOn("c", 1)
	c.join(channel, "ann")
	c.move(1, testMoving)
	for _, n := range c.nodes {
		for method, body := range map[string]string{
			"GetUnread":  fmt.Sprintf(`{"user_id":"ann","channel_id":%q}`, channel),
			"GetChannel": fmt.Sprintf(`{"channel_id":%q}`, channel),
			"GetInbox":   `{"user_id":"ann"}`, // without partition 1 its totals would be wrong
		} {
			status, got := n.callJSON(t, method, body)
			if status != 503 || !strings.Contains(got, "partition 1 has no known owner right now: the group is rebalancing") {
				t.Errorf("node %d, %s: got %d %s", n.index, method, status, got)
			}
		}
	}
	other := c.channelOn("c", 0)
	c.join(other, "ann")
	c.nodes[1].unread(t, "ann", other) // the other partition continues

	c.move(1, 0)
	for _, n := range c.nodes {
		n.unread(t, "ann", channel)
	}
}

// Nodes with different views of the group forward a call in a circle. The call must end.
func TestCallsDoNotGoInCircles(t *testing.T) {
	var nodes [2]*httptest.Server
	for i := range nodes {
		nodes[i] = httptest.NewUnstartedServer(nil)
		t.Cleanup(nodes[i].Close)
	}
	urlOf := func(i int) string { return "http://" + nodes[i].Listener.Addr().String() }
	for i, n := range nodes {
		n.Config = edge.NewServer(Handler(Config{Node: ownerAt{url: urlOf(1 - i)}, Self: urlOf(i)}))
		n.Start()
	}
	n := &node{srv: nodes[0]}
	status, got := n.callJSON(t, "GetUnread", `{"user_id":"ann","channel_id":"c"}`)
	if status != 503 || !strings.Contains(got, "partition 0 is moving: 4 nodes in turn did not have it") {
		t.Errorf("got %d %s", status, got)
	}
}

// ownerAt owns nothing, and its view names url as the owner.
type ownerAt struct {
	noNode
	url string
}

// RelayKey returns the nodes' keys in the group.
func (ownerAt) RelayKey(url string) string { return "the key of " + url }

func (ownerAt) Partitions() int32 { return 1 }

func (o ownerAt) Owner(context.Context, int32) (string, error) { return o.url, nil }

func TestAnOwnerThatCannotBeReached(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct{ url, message string }{
		"not listening": {gone.URL, "the node that owns the data cannot be reached"},
		"no URL":        {"", "its owner advertises no URL: set --advertise there"},
		"a bad URL":     {"10.0.0.1:80", "the owner advertises no http or https URL: set --advertise there"},
		"itself":        {"http://self", "partition 0 is not live here yet: no group"},
	} {
		t.Run(name, func(t *testing.T) {
			n := &node{srv: serve(t, Handler(Config{Node: ownerAt{url: c.url}, Self: "http://self"}))}
			for method, body := range map[string]string{
				"GetUnread": `{"user_id":"ann","channel_id":"c"}`, "GetInbox": `{"user_id":"ann"}`,
			} {
				status, got := n.callJSON(t, method, body)
				if status != 503 || !strings.Contains(got, c.message) {
					t.Errorf("%s: got %d %s, want %s", method, status, got, c.message)
				}
			}
		})
	}
}

// Errors of the owner arrive unchanged.
func TestForwardedErrorsKeepTheirCode(t *testing.T) {
	c := newCluster(t, 2, 2)
	channel := c.channelOn("c", 1)
	for code, req := range map[connect.Code]*queryv1.GetUnreadRequest{
		connect.CodeNotFound:        {UserId: "ann", ChannelId: channel},
		connect.CodeInvalidArgument: {UserId: "", ChannelId: channel},
	} {
		var bodies [2]string
		for i, n := range c.nodes {
			_, err := n.query.GetUnread(t.Context(), connect.NewRequest(req))
			if connect.CodeOf(err) != code {
				t.Errorf("node %d: got %v, want %v", i, err, code)
			}
			bodies[i] = fmt.Sprint(err)
		}
		if bodies[0] != bodies[1] {
			t.Errorf("the owner says %q, the other %q", bodies[1], bodies[0])
		}
	}
}

// If a store closes during an answer, the call goes to the partition's next owner. A call without a
// waiting caller, and one that no other node can answer, end with an error. The answer in progress
// ends each time.
func TestAnAnswerThatTheStoreIsClosedUnder(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.join("c", "ann", "bob")
	c.post("c", "m1", "ann")
	n := c.nodes[0]
	s := newService(Config{Node: n, Self: n.url}.withDefaults(), newMetrics(nil, slog.New(slog.DiscardHandler)))
	const closing = "the store was closed before the answer was complete"
	for _, x := range []struct {
		name, message string
		goes          func(cancel context.CancelFunc)
		err           error
	}{
		{"to another node", "", func(context.CancelFunc) { c.move(0, 1) }, projections.ErrClosing},
		{"to nobody yet", "has no known owner right now", func(context.CancelFunc) { c.move(0, testMoving) }, projections.ErrClosing},
		{"nowhere", closing, func(context.CancelFunc) {}, projections.ErrClosing},
		{"and the caller too", `channel_id "c" could not be read in time`, func(cancel context.CancelFunc) { cancel() }, context.Canceled},
	} {
		c.move(0, 0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := 0
		req := connect.NewRequest(&queryv1.GetReceiptsRequest{ChannelId: "c", MessageId: "m1"})
		res, err := routedInTwo(ctx, s, req, "c", nil, func(*projections.Partition, int32) rest[queryv1.GetReceiptsResponse] {
			return func(context.Context) (*queryv1.GetReceiptsResponse, error) {
				ended++
				x.goes(cancel)
				return nil, x.err
			}
		}, queryv1connect.QueryServiceClient.GetReceipts)
		cancel()
		switch {
		case ended != 1:
			t.Errorf("%s: ended %d times", x.name, ended)
		case x.message == "" && (err != nil || res.Msg.RecipientCount != 1):
			t.Errorf("%s: %v, %v", x.name, res, err)
		case x.message != "" && (connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), x.message)):
			t.Errorf("%s: %v, want unavailable with %q", x.name, err, x.message)
		}
	}
}

// This repeats the test with real stores that close during many calls: each answer is right or an
// error.
func TestStoresAreClosedUnderThoseWhoAsk(t *testing.T) {
	c := newCluster(t, 1, 1)
	part, err := projections.Open("another", c.parts[0].Identity(), projections.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	c.parts[0] = part // it may only be closed once
	c.join("c", "ann", "bob")
	for i := range 300 {
		c.post("c", fmt.Sprintf("m%03d", i), "ann")
		c.readUpTo("c", "bob", uint32(i))
	}
	n := c.nodes[0]
	var asking sync.WaitGroup
	answered := make(chan struct{}, 1000)
	for range 4 {
		asking.Go(func() {
			for {
				res, err := n.query.GetReceipts(t.Context(), connect.NewRequest(&queryv1.GetReceiptsRequest{ChannelId: "c", MessageId: "m000"}))
				var x *connect.Response[queryv1.ExplainUnreadResponse]
				if err == nil {
					x, err = n.query.ExplainUnread(t.Context(), connect.NewRequest(&queryv1.ExplainUnreadRequest{ChannelId: "c", UserId: "bob"}))
				}
				if err != nil {
					wantCode(t, "while the store is closed", err, connect.CodeUnavailable)
					return
				}
				if res.Msg.ReadCount != 1 || len(res.Msg.Recipients) != 1 || x.Msg.Unread != 1 {
					t.Errorf("%v and %v", res.Msg, x.Msg)
				}
				select {
				case answered <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 20 {
		<-answered
	}
	c.move(0, testMoving)
	part.Lock()
	if err := part.Close(); err != nil {
		t.Error(err)
	}
	part.Unlock()
	asking.Wait()
}
