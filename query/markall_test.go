package query

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/queryv1"
)

// TestMarkAllRead: MarkAllRead writes one event for each channel with unread messages, for more
// channels than a page lists. Once the events are folded nothing is unread, except in threads, and
// a mark takes any of them back. A mark made in between wins.
func TestMarkAllRead(t *testing.T) {
	broker, producer := newBroker(t)
	c := newCluster(t, ingestPartitions, 2, func(cfg *Config) { cfg.Producer = producer })
	const unread = paging.MaxSize + 100
	for i := range unread {
		ch := fmt.Sprintf("ch%d", i)
		c.join(ch, "ann", "bob")
		c.post(ch, "m1", "bob")
		c.post(ch, "m2", "bob", "ann")
	}
	c.mute("ch7", "ann", true)
	c.reply("ch7", "m1", "r1", "bob", "ann")
	c.join("nothing", "ann")
	c.join("read", "ann", "bob")
	c.post("read", "m1", "bob")
	c.readUpTo("read", "ann", 1)

	client := ingestv1connect.NewIngestServiceClient(c.nodes[1].srv.Client(), c.nodes[1].srv.URL)
	res, err := client.MarkAllRead(t.Context(), connect.NewRequest(&ingestv1.MarkAllReadRequest{UserId: "ann", InstanceId: "phone"}))
	if err != nil {
		t.Fatal(err)
	}
	if res.Msg.Channels != unread || len(res.Msg.After) != ingestPartitions {
		t.Fatalf("%d channels, after %v", res.Msg.Channels, res.Msg.After)
	}
	c.read(events.Read{Kind: events.KindMarkedUnread, MessageID: []byte("m2")}, "ch3", "ann") // before the events are folded
	var d events.Decoder
	for _, r := range consumeAll(t, broker, unread) {
		var e events.Read
		if err := d.Read(r.Value, r.Timestamp.UnixMilli(), &e); err != nil {
			t.Fatal(err)
		}
		if string(e.InstanceID) != "phone" || e.ReadEpoch != 1 || r.Topic != events.InputTopics[events.Reads] {
			t.Fatalf("%+v", e)
		}
		c.read(e, string(e.ChannelID), string(e.UserID))
	}
	got := c.nodes[0].inbox(t, &queryv1.GetInboxRequest{UserId: "ann", UnreadOnly: true})
	if len(got.Channels) != 1 || got.Channels[0].ChannelId != "ch3" || got.Totals.Unread != 2 || got.Totals.ThreadUnread != 0 {
		t.Fatalf("left: %v, totals %v", got.Channels, got.Totals)
	}
	if threads := c.nodes[0].threads(t, &queryv1.GetThreadsRequest{UserId: "ann"}); threads.Threads[0].Unread != 1 {
		t.Errorf("a thread was read with its channel: %v", threads)
	}
	c.read(events.Read{Kind: events.KindMarkedUnread, MessageID: []byte("m2")}, "ch5", "ann")
	if v := c.nodes[0].unread(t, "ann", "ch5"); v.Unread != 1 || v.Mentions != 1 || v.FirstUnread.MessageId != "m2" {
		t.Errorf("after a mark: %v", v)
	}
	// With threads it reads ch3 and ch5, which are marked, and ch7, in which only a thread has
	// unread replies.
	res, err = client.MarkAllRead(t.Context(), connect.NewRequest(&ingestv1.MarkAllReadRequest{UserId: "ann", Threads: true}))
	if err != nil || res.Msg.Channels != 3 {
		t.Fatalf("with threads: %v, %v", res, err)
	}
	for _, r := range consumeAll(t, broker, unread+3) {
		var e events.Read
		if err := d.Read(r.Value, r.Timestamp.UnixMilli(), &e); err != nil {
			t.Fatal(err)
		}
		if e.WithThreads {
			c.read(e, string(e.ChannelID), string(e.UserID))
		}
	}
	if threads := c.nodes[0].threads(t, &queryv1.GetThreadsRequest{UserId: "ann"}); threads.Threads[0].Unread != 0 || threads.Totals.Badge != 0 {
		t.Errorf("after a read with threads: %v", threads)
	}
	again, err := client.MarkAllRead(t.Context(), connect.NewRequest(&ingestv1.MarkAllReadRequest{UserId: "nobody"}))
	if err != nil || again.Msg.Channels != 0 || len(again.Msg.After) != 0 {
		t.Errorf("of somebody without channels: %v, %v", again, err)
	}
	_, err = client.MarkAllRead(t.Context(), connect.NewRequest(&ingestv1.MarkAllReadRequest{}))
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "user_id") {
		t.Errorf("without a user: %v", err)
	}
}
