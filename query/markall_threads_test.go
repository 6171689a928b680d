package query

import (
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/queryv1"
)

// TestMarkAllReadOfOldThreads: MarkAllRead with threads reads the threads that a user follows, of
// any age, and not only those of their panel (DESIGN §4.7). So at its first later reply, an old
// thread comes back with that reply alone.
func TestMarkAllReadOfOldThreads(t *testing.T) {
	broker, producer := newBroker(t)
	c := newCluster(t, ingestPartitions, 2, func(cfg *Config) { cfg.Producer = producer })
	for _, ch := range []string{"old", "filed", "new", "read", "left"} {
		c.join(ch, "ann", "bob")
		c.post(ch, "root", "ann")
		c.reply(ch, "root", "r1", "bob")
		c.reply(ch, "root", "r2", "bob")
	}
	c.read(events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: 3, ThreadID: []byte("root")}, "read", "ann")
	c.read(events.Read{Kind: events.KindChannelFiled, Archived: true, Keep: true}, "filed", "ann")
	c.leave("left", "ann")
	c.mu.Lock()
	c.now += int64(31 * 24 * time.Hour / time.Millisecond)
	c.mu.Unlock()
	for p := range int32(ingestPartitions) { // moves the log time of each partition
		c.join(c.channelOn("clock", p), "bob")
	}
	c.reply("new", "root", "r3", "bob")

	for _, n := range c.nodes {
		listed := n.threads(t, &queryv1.GetThreadsRequest{UserId: "ann"})
		if got := threadIDs(listed.Threads); !slices.Equal(got, []string{"new/root"}) || listed.Totals.ThreadUnread != 3 {
			t.Fatalf("listed: %v, totals %v", got, listed.Totals)
		}
		all := n.threads(t, &queryv1.GetThreadsRequest{UserId: "ann", AnyAge: true})
		got := threadIDs(all.Threads)
		slices.Sort(got[1:])
		if !slices.Equal(got, []string{"new/root", "filed/root", "old/root", "read/root"}) || all.Totals.ThreadUnread != 3 {
			t.Fatalf("of any age: %v, totals %v, want those of the listed", got, all.Totals)
		}
		var paged []string
		for req := (&queryv1.GetThreadsRequest{UserId: "ann", AnyAge: true, PageSize: 1}); ; {
			page := n.threads(t, req)
			paged = append(paged, threadIDs(page.Threads)...)
			if req.PageToken = page.NextPageToken; req.PageToken == "" {
				break
			}
			_, err := n.query.GetThreads(t.Context(), connect.NewRequest(&queryv1.GetThreadsRequest{UserId: "ann", PageToken: req.PageToken}))
			if connect.CodeOf(err) != connect.CodeInvalidArgument {
				t.Errorf("a token of all threads, for those that are listed: %v", err)
			}
		}
		if !slices.Equal(paged, threadIDs(all.Threads)) {
			t.Errorf("pages %v, want %v", paged, threadIDs(all.Threads))
		}
	}

	client := ingestv1connect.NewIngestServiceClient(c.nodes[1].srv.Client(), c.nodes[1].srv.URL)
	mark := func() *ingestv1.MarkAllReadResponse {
		t.Helper()
		res, err := client.MarkAllRead(t.Context(), connect.NewRequest(&ingestv1.MarkAllReadRequest{UserId: "ann", Threads: true}))
		if err != nil {
			t.Fatal(err)
		}
		return res.Msg
	}
	if res := mark(); res.Channels != 3 {
		t.Fatalf("%d channels are read, want old, filed and new", res.Channels)
	}
	var d events.Decoder
	for _, r := range consumeAll(t, broker, 3) {
		var e events.Read
		if err := d.Read(r.Value, r.Timestamp.UnixMilli(), &e); err != nil {
			t.Fatal(err)
		}
		if !e.WithThreads || e.ReadEpoch != 1 {
			t.Errorf("%+v", e)
		}
		c.read(e, string(e.ChannelID), string(e.UserID))
	}
	if res := mark(); res.Channels != 0 {
		t.Errorf("a second time: %d channels", res.Channels)
	}
	if got := threadIDs(c.nodes[0].threads(t, &queryv1.GetThreadsRequest{UserId: "ann"}).Threads); !slices.Equal(got, []string{"new/root"}) {
		t.Errorf("a read with threads lists none: %v", got)
	}
	c.reply("old", "root", "r9", "bob")
	back := c.nodes[0].threads(t, &queryv1.GetThreadsRequest{UserId: "ann"}).Threads
	if len(back) != 2 || back[0].ChannelId != "old" || back[0].Unread != 1 || back[0].FirstUnread.MessageId != "r9" {
		t.Errorf("an old thread with a new reply: %v", back)
	}
}
