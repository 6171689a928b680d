package query

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/query/queryv1"
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
			"GetInbox":   `{"user_id":"ann"}`, // its totals would be wrong without partition 1
		} {
			status, got := n.callJSON(t, method, body)
			if status != 503 || !strings.Contains(got, "partition 1 has no known owner right now: the group is rebalancing") {
				t.Errorf("node %d, %s: got %d %s", n.index, method, status, got)
			}
		}
	}
	other := c.channelOn("c", 0)
	c.join(other, "ann")
	c.nodes[1].unread(t, "ann", other) // the other partition goes on

	c.move(1, 0)
	for _, n := range c.nodes {
		n.unread(t, "ann", channel)
	}
}

// Nodes whose views of the group differ send a call round; it must end.
func TestCallsDoNotGoInCircles(t *testing.T) {
	var nodes [2]*httptest.Server
	for i := range nodes {
		nodes[i] = httptest.NewUnstartedServer(nil)
		t.Cleanup(nodes[i].Close)
	}
	urlOf := func(i int) string { return "http://" + nodes[i].Listener.Addr().String() }
	for i, n := range nodes {
		n.Config = NewServer(Handler(Config{Node: ownerAt{url: urlOf(1 - i)}, Self: urlOf(i)}))
		n.Start()
	}
	n := &node{srv: nodes[0]}
	status, got := n.callJSON(t, "GetUnread", `{"user_id":"ann","channel_id":"c"}`)
	if status != 503 || !strings.Contains(got, "partition 0 is moving: 4 nodes in turn did not have it") {
		t.Errorf("got %d %s", status, got)
	}
}

// ownerAt has nothing and believes that url has it.
type ownerAt struct {
	noNode
	url string
}

func (ownerAt) Partitions() int32 { return 1 }

func (o ownerAt) Owner(context.Context, int32) (string, error) { return o.url, nil }

func TestAnOwnerThatCannotBeReached(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct{ url, says string }{
		"not listening": {gone.URL, gone.URL + ", which owns the data, cannot be reached"},
		"no URL":        {"", "its owner advertises no URL: set --advertise there"},
		"a bad URL":     {"10.0.0.1:80", `the owner advertises \"10.0.0.1:80\", which is no http or https URL`},
		"itself":        {"http://self", "partition 0 is not live here yet: no group"},
	} {
		t.Run(name, func(t *testing.T) {
			n := &node{srv: serve(t, Handler(Config{Node: ownerAt{url: c.url}, Self: "http://self"}))}
			for method, body := range map[string]string{
				"GetUnread": `{"user_id":"ann","channel_id":"c"}`, "GetInbox": `{"user_id":"ann"}`,
			} {
				status, got := n.callJSON(t, method, body)
				if status != 503 || !strings.Contains(got, c.says) {
					t.Errorf("%s: got %d %s, want %s", method, status, got, c.says)
				}
			}
		})
	}
}

// Errors of the owner arrive as the owner said them.
func TestForwardedErrorsKeepTheirCode(t *testing.T) {
	c := newCluster(t, 2, 2)
	channel := c.channelOn("c", 1)
	for code, req := range map[connect.Code]*queryv1.GetUnreadRequest{
		connect.CodeNotFound:        {UserId: "ann", ChannelId: channel},
		connect.CodeInvalidArgument: {UserId: "", ChannelId: channel},
	} {
		var said [2]string
		for i, n := range c.nodes {
			_, err := n.query.GetUnread(t.Context(), connect.NewRequest(req))
			if connect.CodeOf(err) != code {
				t.Errorf("node %d: got %v, want %v", i, err, code)
			}
			said[i] = fmt.Sprint(err)
		}
		if said[0] != said[1] {
			t.Errorf("the owner says %q, the other %q", said[1], said[0])
		}
	}
}
