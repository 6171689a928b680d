package query

import (
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/queryv1"
)

func (c *cluster) reply(channel, thread, messageID, sender string, mentions ...string) string {
	m := events.Message{Kind: events.KindMessagePosted, MessageID: []byte(messageID), SenderID: []byte(sender), ThreadID: []byte(thread)}
	for _, u := range mentions {
		m.IDs = append(m.IDs, []byte(u))
	}
	return c.message(channel, m)
}

func (n *node) threads(t testing.TB, req *queryv1.GetThreadsRequest) *queryv1.GetThreadsResponse {
	t.Helper()
	res, err := n.query.GetThreads(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatalf("GetThreads(%v): %v", req, err)
	}
	return res.Msg
}

func threadIDs(list []*queryv1.ThreadUnread) (out []string) {
	for _, t := range list {
		out = append(out, t.ChannelId+"/"+t.ThreadId)
	}
	return out
}

// TestThreadsOrderAndTotals: every node lists the same threads, and the totals of the inbox are
// their sums.
func TestThreadsOrderAndTotals(t *testing.T) {
	c := newCluster(t, 4, 3)
	for _, ch := range []string{"c1", "c2", "muted"} {
		c.join(ch, "ann", "bob")
		c.post(ch, "root", "ann")
	}
	c.reply("c1", "root", "r1", "bob")
	c.reply("c2", "root", "r1", "bob", "ann")
	c.reply("muted", "root", "r1", "bob")
	c.mute("muted", "ann", true)
	c.post("c1", "other", "bob")
	c.reply("c1", "other", "o1", "ann") // ann follows the thread and has read it
	c.reply("c2", "root", "r2", "bob")

	want := []string{"c2/root", "muted/root", "c1/root", "c1/other"}
	totals := &queryv1.Totals{ThreadUnread: 3, ThreadMentions: 1, UnreadThreads: 2, Badge: 3, Archived: &queryv1.ArchivedTotals{}}
	for _, n := range c.nodes {
		got := n.threads(t, &queryv1.GetThreadsRequest{UserId: "ann"})
		if !slices.Equal(threadIDs(got.Threads), want) {
			t.Errorf("node %d: %v, want %v", n.index, threadIDs(got.Threads), want)
		}
		if !proto.Equal(got.Totals, totals) {
			t.Errorf("node %d: totals %v, want %v", n.index, got.Totals, totals)
		}
		first := got.Threads[0]
		if first.Unread != 2 || first.Mentions != 1 || first.FirstUnread.MessageId != "r1" || first.LastReply.MessageId != "r2" || !first.Following {
			t.Errorf("node %d: %v", n.index, first)
		}
		inbox := n.inbox(t, &queryv1.GetInboxRequest{UserId: "ann"})
		if inbox.Totals.ThreadUnread != 3 || inbox.Totals.ThreadMentions != 1 {
			t.Errorf("node %d: totals of the inbox %v", n.index, inbox.Totals)
		}
		var paged []string
		for req := (&queryv1.GetThreadsRequest{UserId: "ann", PageSize: 1}); ; {
			res := n.threads(t, req)
			paged = append(paged, threadIDs(res.Threads)...)
			if req.PageToken = res.NextPageToken; req.PageToken == "" {
				break
			}
		}
		if !slices.Equal(paged, want) {
			t.Errorf("node %d: page by page %v, want %v", n.index, paged, want)
		}
	}
	token := c.nodes[0].inbox(t, &queryv1.GetInboxRequest{UserId: "ann", PageSize: 1}).NextPageToken
	_, err := c.nodes[0].query.GetThreads(t.Context(), connect.NewRequest(&queryv1.GetThreadsRequest{UserId: "ann", PageToken: token}))
	if connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("a token of the inbox: %v", err)
	}
}

// TestExplainThread explains a thread's count.
func TestExplainThread(t *testing.T) {
	c := newCluster(t, 2, 2)
	c.join("c", "ann", "bob")
	c.post("c", "root", "ann")
	c.reply("c", "root", "r1", "bob")
	c.reply("c", "root", "r2", "bob")
	c.message("c", events.Message{Kind: events.KindMessageDeleted, MessageID: []byte("r1")})
	c.post("c", "top", "bob")
	for _, n := range c.nodes {
		res, err := n.query.ExplainUnread(t.Context(), connect.NewRequest(&queryv1.ExplainUnreadRequest{UserId: "ann", ChannelId: "c", ThreadId: "root"}))
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Msg; got.Unread != 1 || !slices.Equal(got.MessageIds, []string{"r2"}) || got.Excluded.Deleted != 1 || got.Excluded.Thread != 0 {
			t.Errorf("node %d: %v", n.index, got)
		}
	}
}

// TestWatchTellsThreads: the snapshot lists threads, an update has the changed thread, and a thread
// that is no longer followed is sent once.
func TestWatchTellsThreads(t *testing.T) {
	c := newCluster(t, 2, 2)
	c.join("c", "ann", "bob")
	c.post("c", "root", "ann")
	c.reply("c", "root", "r1", "bob")
	for _, n := range c.nodes {
		stream, err := n.query.WatchUnread(t.Context(), connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: "ann"}))
		if err != nil {
			t.Fatal(err)
		}
		next := func() *queryv1.ThreadUnread {
			t.Helper()
			for stream.Receive() {
				if u := stream.Msg().GetUpdate(); u.GetThread() != nil {
					if sum := u.Thread.Unread; u.Totals.ThreadUnread != sum {
						t.Errorf("totals %v for %v", u.Totals, u.Thread)
					}
					return u.Thread
				}
			}
			t.Fatal(stream.Err())
			return nil
		}
		if !stream.Receive() {
			t.Fatal(stream.Err())
		}
		snap := stream.Msg().GetSnapshot()
		if len(snap.GetThreads()) != 1 || snap.Threads[0].Unread != uint32(1+n.index) || snap.Totals.ThreadUnread != uint32(1+n.index) {
			t.Fatalf("snapshot %v", snap)
		}
		c.reply("c", "root", fmt.Sprintf("more%d", n.index), "bob")
		if got := next(); got.Unread != uint32(2+n.index) || !got.Following {
			t.Errorf("node %d: %v", n.index, got)
		}
		if n.index == 1 {
			c.read(events.Read{Kind: events.KindThreadUnfollowed, ThreadID: []byte("root")}, "c", "ann")
			if got := next(); got.Unread != 0 || got.Following {
				t.Errorf("node %d: %v", n.index, got)
			}
		}
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
	}
}
