package query

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

// TestPagesOfAKeptList: pages of a user with many threads, and their inbox in between, equal those
// of a node without kept lists, whatever was folded since the previous page.
func TestPagesOfAKeptList(t *testing.T) {
	const channels, threads = 20, 2_000
	c := newCluster(t, 2, 1)
	for i := range channels {
		c.join(fmt.Sprintf("c%d", i), "ann", "bob")
	}
	for i := range threads {
		ch, root := fmt.Sprintf("c%d", i%channels), fmt.Sprintf("m%d", i)
		c.post(ch, root, "bob")
		c.reply(ch, root, root+"-1", "bob", "ann")
	}
	l := NewLocal(c.nodes[0].cfg)
	changes := []func(){
		func() {}, func() {},
		func() { c.reply("c3", "m3", "more", "bob") },
		func() { c.read(events.Read{Kind: events.KindThreadUnfollowed, ThreadID: []byte("m4")}, "c4", "ann") },
		func() { c.join("new", "ann", "bob"); c.post("new", "m", "bob") },
		func() { c.leave("c5", "ann") },
		func() { c.now += int64(31 * 24 * time.Hour / time.Millisecond); c.post("c7", "late", "bob") },
		func() { c.reply("c8", "m8", "again", "bob") },
	}
	token, inbox := "", ""
	for n, change := range changes {
		change()
		fresh := NewLocal(c.nodes[0].cfg)
		req := &queryv1.GetThreadsRequest{UserId: "ann", PageSize: 100, PageToken: token, EvaluatedAt: timestamppb.New(noon)}
		got, err := l.GetThreads(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		want, err := fresh.GetThreads(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		token = want.NextPageToken
		got.NextPageToken, want.NextPageToken = "", ""
		if !proto.Equal(got, want) || len(want.Threads) == 0 && n < 6 {
			t.Fatalf("page %d of threads is\n%v\nwant\n%v", n, got, want)
		}
		if n%2 == 0 {
			continue
		}
		of := &queryv1.GetInboxRequest{UserId: "ann", PageSize: 5, PageToken: inbox, EvaluatedAt: timestamppb.New(noon)}
		gotInbox, err := l.GetInbox(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		wantInbox, err := fresh.GetInbox(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		inbox = wantInbox.NextPageToken
		gotInbox.NextPageToken, wantInbox.NextPageToken = "", ""
		if !proto.Equal(gotInbox, wantInbox) || len(wantInbox.Channels) == 0 && inbox != "" {
			t.Fatalf("page %d of the inbox is\n%v\nwant\n%v", n, gotInbox, wantInbox)
		}
	}
	if channels, _ := l.service.lists.Take("ann", 0, true).Listed(); channels == 0 {
		t.Error("no list is kept: not the case that is meant")
	}
}

// betweenHolds is a node that runs a function at the n-th access to a partition. A call accesses
// each of two partitions, at its beginning and under each hold of a lock.
type betweenHolds struct {
	Node
	asked int // accesses before the function runs, which it does at 0
	run   func()
}

func (n *betweenHolds) Live(p int32) (*projections.Partition, error) {
	if n.asked--; n.asked == -1 {
		n.run()
	}
	return n.Node.Live(p)
}

// TestPageOfListsThatChange: records folded between two holds of a call move each partition's part
// of the page to a position after them, or leave it before them, completely.
func TestPageOfListsThatChange(t *testing.T) {
	const threads = 400                      // in each partition
	for asked := 0; asked < 40; asked += 2 { // each access before a hold
		c := newCluster(t, 2, 1)
		channels := []string{c.channelOn("c", 0), c.channelOn("c", 1)}
		for _, ch := range channels {
			c.join(ch, "ann", "bob")
		}
		for i := range threads {
			for _, ch := range channels {
				root := fmt.Sprintf("m%d", i)
				c.post(ch, root, "bob")
				c.reply(ch, root, root+"-1", "bob", "ann")
			}
		}
		ask := func(node Node) *queryv1.GetThreadsResponse {
			cfg := c.nodes[0].cfg
			cfg.Node = node
			res, err := NewLocal(cfg).GetThreads(t.Context(), &queryv1.GetThreadsRequest{UserId: "ann", PageSize: 300, EvaluatedAt: timestamppb.New(noon)})
			if err != nil {
				t.Fatal(err)
			}
			res.NextPageToken = ""
			return res
		}
		before := ask(c.nodes[0])
		changed := false
		got := ask(&betweenHolds{c.nodes[0], asked, func() {
			changed = true
			for i := range threads {
				c.read(events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: 2 * threads, ThreadID: fmt.Appendf(nil, "m%d", i)}, channels[1], "ann")
			}
		}})
		after := ask(c.nodes[0])
		switch {
		case !changed:
			if asked < 6 {
				t.Fatalf("a page takes %d holds at most: not the case that is meant", asked)
			}
			return
		case proto.Equal(got, before):
		case !proto.Equal(got, after):
			t.Fatalf("asked %d times: %d threads, neither what was before nor what is after", asked, len(got.Threads))
		}
	}
	t.Error("the calls have no end")
}
