package query

import (
	"fmt"
	"log/slog"

	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/internal/owners"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/queryv1"
)

// received has the channels and threads that a stream has sent, by id.
type received struct {
	t        *testing.T
	channels map[string]*queryv1.ChannelUnread
	threads  map[string]*queryv1.ThreadUnread
	totals   *queryv1.Totals
	seen     position.After
}

// take takes a message of the stream, whose as_of never goes back.
func (x *received) take(m *queryv1.WatchUnreadResponse) {
	now := position.After{}
	testTopics.Merge(now, m.AsOf)
	for p, r := range now {
		last, is := x.seen[p]
		for in, offset := range last {
			if is && r[in] < offset {
				x.t.Errorf("as of %v, after %v", m.AsOf, x.seen)
			}
		}
		x.seen[p] = r
	}
	if s := m.GetSnapshot(); s != nil {
		for _, c := range s.Channels {
			x.channels[c.ChannelId] = c
		}
		for _, th := range s.Threads {
			x.threads[th.ChannelId+"/"+th.ThreadId] = th
		}
		x.totals = s.Totals
		return
	}
	u := m.GetUpdate()
	x.totals = u.Totals
	if c := u.Channel; c != nil {
		if x.channels[c.ChannelId] = c; !c.Member {
			delete(x.channels, c.ChannelId)
		}
	}
	if th := u.Thread; th != nil {
		if x.threads[th.ChannelId+"/"+th.ThreadId] = th; !th.Following {
			delete(x.threads, th.ChannelId+"/"+th.ThreadId)
		}
	}
}

// TestWatchLooksInSlices: changes are read in holds of the lock of limited time, however many
// channels changed and however many threads the user follows in one of them. The lock is free while
// they are sent. Changes that are folded between two holds are sent too, in the end.
func TestWatchLooksInSlices(t *testing.T) {
	const channels, threads = 40, 100
	c := newCluster(t, 1, 1)
	var mu sync.Mutex
	clock, holds := time.Now(), 0
	s := newService(Config{Node: c.nodes[0], Topics: testTopics, Now: func() time.Time { // a clock that makes every hold end soon
		mu.Lock()
		defer mu.Unlock()
		clock = clock.Add(watchHold)
		return clock
	}, planted: func(int32) { holds++ }}, newMetrics(nil, slog.New(slog.DiscardHandler)))
	for i := range channels {
		c.join(fmt.Sprintf("c%d", i), "ann", "bob")
	}
	thread := func(i int) {
		c.post("c0", fmt.Sprintf("root%d", i), "bob")
		c.reply("c0", fmt.Sprintf("root%d", i), fmt.Sprintf("reply%d", i), "bob", "ann")
	}
	for i := range threads {
		thread(i)
	}
	got := &received{t: t, channels: map[string]*queryv1.ChannelUnread{}, threads: map[string]*queryv1.ThreadUnread{}, seen: position.After{}}
	between := func(int) {}
	sent := 0
	w := newLocalWatch(s, "ann", owners.Shares{Local: []int32{0}}, func(m *queryv1.WatchUnreadResponse) error {
		got.take(m)
		sent++
		between(sent)
		return nil
	})
	if err := w.watch(0); err != nil {
		t.Fatal(err)
	}
	if err := w.snapshot(t.Context(), nil, 0); err != nil {
		t.Fatal(err)
	}
	for i := range channels {
		c.post(fmt.Sprintf("c%d", i), fmt.Sprintf("again%d", i), "bob")
	}
	for i := range threads {
		c.reply("c0", fmt.Sprintf("root%d", i), fmt.Sprintf("more%d", i), "bob")
	}
	holds, sent = 0, 0
	between = func(n int) { // if the lock is held, this hangs
		switch n {
		case 10:
			c.message("c1", events.Message{Kind: events.KindChannelDeleted})
			c.leave("c2", "ann")
			c.readUpTo("c3", "ann", 1)
		case 30:
			thread(threads)
			c.read(events.Read{Kind: events.KindThreadUnfollowed, ThreadID: []byte("root0")}, "c0", "ann")
			c.message("c0", events.Message{Kind: events.KindMessageDeleted, MessageID: []byte("root1")})
			c.reply("c0", "root2", "late", "bob", "ann")
		}
	}
	if err := w.changed(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if least := channels + threads/threadsPerLook; holds < least || holds > 2*least {
		t.Errorf("%d channels and %d threads are looked at under %d holds of the lock, want at least %d", channels, threads, holds, least)
	}
	if err := w.changed(t.Context(), 0); err != nil { // sends records folded meanwhile
		t.Fatal(err)
	}
	inbox := c.nodes[0].inbox(t, &queryv1.GetInboxRequest{UserId: "ann", PageSize: 1000})
	panel := c.nodes[0].threads(t, &queryv1.GetThreadsRequest{UserId: "ann", PageSize: 1000})
	if len(got.channels) != len(inbox.Channels) || len(inbox.Channels) != channels-2 {
		t.Errorf("told of %d channels, %d are there", len(got.channels), len(inbox.Channels))
	}
	for _, want := range inbox.Channels {
		if !proto.Equal(got.channels[want.ChannelId], want) {
			t.Errorf("told %v\nis   %v", got.channels[want.ChannelId], want)
		}
	}
	if len(got.threads) != len(panel.Threads) || len(panel.Threads) != threads-1 {
		t.Errorf("told of %d threads, %d are there", len(got.threads), len(panel.Threads))
	}
	for _, want := range panel.Threads {
		if !proto.Equal(got.threads[want.ChannelId+"/"+want.ThreadId], want) {
			t.Errorf("told %v\nis   %v", got.threads[want.ChannelId+"/"+want.ThreadId], want)
		}
	}
	if !proto.Equal(got.totals, inbox.Totals) {
		t.Errorf("totals told %v, are %v", got.totals, inbox.Totals)
	}
	if len(w.watchers[0].Changed()) > 0 {
		t.Error("something is left")
	}
}
