package query

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/query/queryv1"
)

func (n *node) userChannels(t testing.TB, req *queryv1.ListUserChannelsRequest) *queryv1.ListUserChannelsResponse {
	t.Helper()
	res, err := n.query.ListUserChannels(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatalf("ListUserChannels(%v): %v", req, err)
	}
	return res.Msg
}

func userChannelText(list []*queryv1.UserChannel) (out []string) {
	for _, c := range list {
		out = append(out, fmt.Sprintf("%s %t %t", c.ChannelId, c.Member, c.Erased))
	}
	return out
}

// ListUserChannels lists every channel in which a user ever did anything, except deleted ones, on
// every node and on pages of any size.
func TestListUserChannels(t *testing.T) {
	c := newCluster(t, 4, 3)
	for _, ch := range []string{"deleted", "erased", "erased-and-back", "follows", "guest", "hides", "left", "member", "posted", "strangers", "waits"} {
		c.join(ch, "bob")
		c.post(ch, "m1", "bob")
	}
	erase := events.Read{Kind: events.KindUserErased}
	for _, ch := range []string{"deleted", "erased", "erased-and-back", "follows", "hides", "left", "member", "waits"} {
		c.join(ch, "ann")
	}
	c.readUpTo("guest", "ann", 1)
	c.post("posted", "m2", "ann")
	for _, ch := range []string{"left", "erased", "erased-and-back"} {
		c.leave(ch, "ann")
	}
	c.readUpTo("erased", "ann", 1)
	c.read(erase, "erased", "ann")
	c.read(erase, "erased-and-back", "ann")
	c.readUpTo("erased-and-back", "ann", 1)
	c.read(erase, "follows", "ann")
	c.read(events.Read{Kind: events.KindThreadFollowed, ThreadID: []byte("m1")}, "follows", "ann")
	for _, ch := range []string{"hides", "waits"} {
		c.read(erase, ch, "ann")
	}
	unknown := [][]byte{[]byte("to come")}
	c.read(events.Read{Kind: events.KindMessagesHidden, IDs: unknown}, "hides", "ann") // the channel keeps nothing else of it
	c.read(events.Read{Kind: events.KindMessagesRead, IDs: unknown}, "waits", "ann")
	c.message("deleted", events.Message{Kind: events.KindChannelDeleted})

	want := []string{"erased false true", "erased-and-back false false", "follows true false", "guest false false", "hides true false",
		"left false false", "member true false", "posted false false", "waits true false"}
	for _, n := range c.nodes {
		for _, size := range []uint32{0, 1, 3} {
			var got []string
			for req := (&queryv1.ListUserChannelsRequest{OfUserId: "ann", PageSize: size}); ; {
				res := n.userChannels(t, req)
				got = append(got, userChannelText(res.Channels)...)
				if len(res.AsOf) == 0 {
					t.Error("without as_of")
				}
				if req.PageToken = res.NextPageToken; req.PageToken == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("node %d, pages of %d:\n got %q\nwant %q", n.index, size, got, want)
			}
		}
	}
	if res := c.nodes[0].userChannels(t, &queryv1.ListUserChannelsRequest{OfUserId: "nobody"}); len(res.Channels) != 0 || res.NextPageToken != "" {
		t.Errorf("of nobody: %v", res)
	}
	token := c.nodes[0].userChannels(t, &queryv1.ListUserChannelsRequest{OfUserId: "ann", PageSize: 1}).NextPageToken
	for what, req := range map[string]*queryv1.ListUserChannelsRequest{
		"no user": {}, "a large page": {OfUserId: "ann", PageSize: 1001}, "another's token": {OfUserId: "bob", PageToken: token},
		"a malformed after": {OfUserId: "ann", After: []string{"x"}},
	} {
		_, err := c.nodes[0].query.ListUserChannels(t.Context(), connect.NewRequest(req))
		wantCode(t, what, err, connect.CodeInvalidArgument)
	}
}

// A user may not query where they have been: that includes more than the channels that they are a
// member of now.
func TestListUserChannelsIsForServices(t *testing.T) {
	c := newCluster(t, 2, 1, func(c *Config) { c.Verifier = authtest.Verifier(t) })
	c.join("c", "ann")
	q := c.nodes[0].query
	req := &queryv1.ListUserChannelsRequest{OfUserId: "ann"}
	_, err := q.ListUserChannels(t.Context(), called(req, authtest.Token(t, "ann", time.Hour)))
	wantCode(t, "a user about themselves", err, connect.CodePermissionDenied)
	if res, err := q.ListUserChannels(t.Context(), called(req, authtest.Service(t))); err != nil || len(res.Msg.Channels) != 1 {
		t.Errorf("a service: %v, %v", res, err)
	}
}
