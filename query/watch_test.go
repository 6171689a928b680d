package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/queryv1"
)

func TestWatchSnapshotThenUpdates(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			c := newCluster(t, 4, nodes)
			a, b := c.channelOn("a", 0), c.channelOn("b", 1)
			c.join(a, "ann", "bob")
			c.join(b, "ann", "bob")
			c.post(a, "m1", "bob")
			w := c.nodes[0].watch(t, t.Context(), "ann")
			snap := w.next().GetSnapshot()
			if snap == nil || !slices.Equal(ids(snap.Channels), []string{a, b}) || snap.Totals.Unread != 1 || snap.NextPageToken != "" {
				t.Fatalf("snapshot %v", snap)
			}

			token := c.post(b, "m1", "bob", "ann")
			m := w.next()
			u := m.GetUpdate()
			if u.GetChannel().GetChannelId() != b || u.Channel.Unread != 1 || u.Channel.Mentions != 1 || u.Channel.Latest.Preview != "hi m1" {
				t.Errorf("update %v", u)
			}
			if want := (&queryv1.Totals{Unread: 2, Mentions: 1, UnreadChannels: 2, Badge: 2, Archived: &queryv1.ArchivedTotals{}}); !proto.Equal(u.Totals, want) {
				t.Errorf("totals %v, want %v", u.Totals, want)
			}
			if !slices.Equal(m.AsOf, []string{token}) {
				t.Errorf("as_of %v, want %v", m.AsOf, token)
			}

			c.readUpTo(a, "ann", 1)
			if u := w.next().GetUpdate(); u.GetChannel().GetChannelId() != a || u.Channel.Unread != 0 || u.Totals.Unread != 1 {
				t.Errorf("after reading: %v", u)
			}
			c.mute(b, "ann", true)
			if u := w.next().GetUpdate(); !u.GetChannel().GetMuted() || u.Channel.Unread != 1 || u.Totals.Unread != 0 || u.Totals.Mentions != 0 {
				t.Errorf("after muting: %v", u)
			}
			c.leave(b, "ann")
			if u := w.next().GetUpdate(); !proto.Equal(u.GetChannel(), &queryv1.ChannelUnread{ChannelId: b}) {
				t.Errorf("after leaving: %v", u)
			}
			c.post(b, "secret", "bob") // she gets nothing more of it
			other := c.channelOn("other", 2)
			c.join(other, "bob")
			c.post(other, "m", "bob") // not her channel, so she gets nothing
			d := c.channelOn("new", 3)
			c.join(d, "ann")
			if u := w.next().GetUpdate(); u.GetChannel().GetChannelId() != d || !u.Channel.Member {
				t.Errorf("after joining: %v", u)
			}
		})
	}
}

// A large channel makes no delta for its members, but their watches are notified.
func TestWatchFollowsLargeChannels(t *testing.T) {
	c := newCluster(t, 2, 2)
	users := []string{"ann", "bob"}
	for i := range 60 {
		users = append(users, fmt.Sprintf("user%d", i))
	}
	ch := c.channelOn("large", 1)
	c.join(ch, users...)
	w := c.nodes[0].watch(t, t.Context(), "ann")
	w.next()
	for i := range uint32(3) {
		c.post(ch, fmt.Sprintf("m%d", i), "bob")
		if u := w.next().GetUpdate(); u.GetChannel().GetUnread() != i+1 || u.Totals.Unread != i+1 {
			t.Fatalf("after %d posts: %v", i+1, u)
		}
	}
}

// Whatever is folded, and however far the client lags, the last values that it got equal GetInbox.
func TestWatchConverges(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	c := newCluster(t, 5, 3)
	users := []string{"ann", "bob", "cyd"}
	for i := range 20 {
		c.join(fmt.Sprintf("ch%d", i), users...)
	}
	w := c.nodes[1].watch(t, t.Context(), "ann")
	w.next()
	last := map[string]string{}
	for i := range 400 {
		ch := fmt.Sprintf("ch%d", rnd.IntN(20))
		var token string
		switch rnd.IntN(8) {
		case 0, 1, 2, 3:
			token = c.post(ch, fmt.Sprintf("m%d", i), users[rnd.IntN(3)], "ann")
		case 4, 5:
			token = c.readUpTo(ch, "ann", 1+uint32(rnd.IntN(10)))
		case 6:
			token = c.mute(ch, "ann", rnd.IntN(2) == 0)
		case 7:
			if rnd.IntN(2) == 0 {
				token = c.leave(ch, "ann")
			} else {
				token = c.join(ch, "ann")
			}
		}
		last[ch] = token
		if rnd.IntN(20) == 0 {
			select {
			case m := <-w.messages:
				w.apply(m)
			default: // not every event changes anything
			}
		}
	}
	// Each channel gets a last change, which certainly reaches the client.
	for ch := range last {
		c.join(ch, "ann")
		token := c.post(ch, "last", "bob")
		w.until(token)
	}
	want := c.nodes[0].inbox(t, &queryv1.GetInboxRequest{UserId: "ann", PageSize: 100})
	for _, ch := range want.Channels {
		if got := w.channels[ch.ChannelId]; !proto.Equal(got, ch) {
			t.Errorf("told %v\nis   %v", got, ch)
		}
	}
	if !proto.Equal(w.totals, want.Totals) {
		t.Errorf("totals told %v, are %v", w.totals, want.Totals)
	}
}

// After a partition moves, even back and forth, a watch sends a fresh snapshot and never has a gap.
func TestWatchSurvivesMoves(t *testing.T) {
	c := newCluster(t, 2, 3)
	ch := c.channelOn("c", 1)
	c.join(ch, "ann", "bob")
	w := c.nodes[0].watch(t, t.Context(), "ann")
	w.next()
	for i, to := range []int{2, 0, 1} {
		c.move(1, testMoving)
		token := c.post(ch, fmt.Sprintf("m%d", i), "bob") // folded by the next owner
		c.move(1, to)
		w.until(token)
		if got := w.channels[ch]; got.GetUnread() != 1 || w.totals.Unread != 1 {
			t.Fatalf("after move %d: %v, totals %v", i, got, w.totals)
		}
		w.until(c.post(ch, fmt.Sprintf("n%d", i), "ann")) // reads all
		if got := w.channels[ch]; got.GetUnread() != 0 {
			t.Fatalf("after own post: %v", got)
		}
	}
}

// A snapshot was cut. When the user leaves a channel that it did not list, the client is notified.
// It still gets nothing of channels that are not theirs.
func TestWatchTellsLeavingBeyondTheSnapshot(t *testing.T) {
	c := newCluster(t, 2, 1)
	for i := range maxSnapshot + 10 {
		ch := fmt.Sprintf("c%d", i)
		c.join(ch, "ann", "bob")
		c.post(ch, "m1", "bob")
	}
	c.readUpTo("c0", "ann", 1) // the last one in the order: read, and the oldest
	w := c.nodes[0].watch(t, t.Context(), "ann")
	w.next()
	if w.channels["c0"] != nil {
		t.Fatal("c0 is in the snapshot")
	}
	c.leave("c0", "ann")
	if u := w.next().GetUpdate(); !proto.Equal(u.GetChannel(), &queryv1.ChannelUnread{ChannelId: "c0"}) {
		t.Errorf("after leaving: %v", u)
	}
	c.post("c0", "secret", "bob")
	c.join("strangers", "bob")
	c.post("strangers", "m", "bob")
	c.message("c1", events.Message{Kind: events.KindChannelDeleted})
	if u := w.next().GetUpdate(); !proto.Equal(u.GetChannel(), &queryv1.ChannelUnread{ChannelId: "c1"}) {
		t.Errorf("after deleting: %v", u)
	}
	if want := uint32(maxSnapshot + 10 - 2); w.totals.Unread != want {
		t.Errorf("totals %v, want %d unread", w.totals, want)
	}
}

func TestWatchEndsWithUnavailableWhenNothingWasTold(t *testing.T) {
	c := newCluster(t, 2, 2)
	c.move(1, testMoving)
	stream, err := c.nodes[0].query.WatchUnread(t.Context(), connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: "ann"}))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if stream.Receive() {
		t.Fatalf("told %v", stream.Msg())
	}
	if err := stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "partition 1 has no known owner") {
		t.Errorf("got %v", err)
	}
}

func TestWatchHeartbeat(t *testing.T) {
	c := newCluster(t, 2, 2, func(cfg *Config) { cfg.HeartbeatEvery = 20 * time.Millisecond })
	token := c.join(c.channelOn("c", 1), "ann")
	w := c.nodes[0].watch(t, t.Context(), "ann")
	w.next()
	select {
	case m := <-w.messages:
		if m.Event != nil || !slices.Equal(m.AsOf, []string{token}) {
			t.Errorf("got %v, want an empty message as of %s", m, token)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("no heartbeat")
	}
}

func TestStoppingEndsWatches(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	c := newCluster(t, 2, 1, func(cfg *Config) { cfg.Stopping = stopping })
	w := c.nodes[0].watch(t, t.Context(), "ann")
	w.next()
	stop()
	select {
	case err := <-w.err:
		if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "this node is stopping") {
			t.Errorf("got %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the stream goes on")
	}
}
