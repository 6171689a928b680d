package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

// looks records which partitions are read.
type looks struct {
	mu   sync.Mutex
	seen map[int32]int
}

func (l *looks) look(p int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[int32]int{}
	}
	l.seen[p]++
}

// taken returns the partitions that were read since the last call.
func (l *looks) taken() (ps []int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.seen {
		ps = append(ps, p)
	}
	clear(l.seen)
	slices.Sort(ps)
	return ps
}

func (l *looks) configure(c *Config) { c.planted = l.look }

func partitionsOf(t testing.TB, asOf []string) (ps []int32) {
	t.Helper()
	for _, token := range asOf {
		id, err := events.ParseRecordID(token)
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, id.Partition)
	}
	slices.Sort(ps)
	return slices.Compact(ps)
}

// A call reads, of 40 partitions on two nodes, only those that have something of the user. as_of
// names only those.
func TestOnlyPartitionsThatKnowTheUserAreRead(t *testing.T) {
	var l looks
	c := newCluster(t, 40, 2, l.configure)
	for p := range int32(40) {
		c.join(c.channelOn("other", p), "bob")
	}
	want := []int32{3, 4, 17, 22, 39}
	for _, p := range want {
		c.join(c.channelOn("c", p), "ann")
	}
	for _, n := range c.nodes {
		for user, want := range map[string][]int32{"ann": want, "nobody": nil} {
			l.taken()
			inbox := n.inbox(t, &queryv1.GetInboxRequest{UserId: user})
			if got := l.taken(); !slices.Equal(got, want) {
				t.Errorf("node %d, the inbox of %s: %v are read, want %v", n.index, user, got, want)
			}
			if got := partitionsOf(t, inbox.AsOf); !slices.Equal(got, want) || len(inbox.Channels) != len(want) {
				t.Errorf("node %d, the inbox of %s: as of %v with %d channels, want %v", n.index, user, got, len(inbox.Channels), want)
			}
			threads, err := n.query.GetThreads(t.Context(), connect.NewRequest(&queryv1.GetThreadsRequest{UserId: user}))
			if err != nil {
				t.Fatal(err)
			}
			if got, asOf := l.taken(), partitionsOf(t, threads.Msg.AsOf); !slices.Equal(got, want) || !slices.Equal(asOf, want) {
				t.Errorf("node %d, the threads of %s: %v are read, as of %v, want %v", n.index, user, got, asOf, want)
			}
			ctx, cancel := context.WithCancel(t.Context())
			w := n.watch(t, ctx, user)
			if got := partitionsOf(t, w.next().AsOf); !slices.Equal(got, want) {
				t.Errorf("node %d, a watch of %s: as of %v, want %v", n.index, user, got, want)
			}
			if got := l.taken(); !slices.Equal(got, want) {
				t.Errorf("node %d, a watch of %s: %v are read, want %v", n.index, user, got, want)
			}
			cancel()
		}
	}
}

// A call with the token of the record that adds the user waits for it, and has its effects.
func TestAfterBringsAPartitionThatDidNotKnowTheUser(t *testing.T) {
	c := newCluster(t, 8, 2)
	for p := range int32(8) {
		for _, n := range c.nodes {
			channel := c.channelOn(fmt.Sprintf("c%d-", n.index), p)
			user := fmt.Sprintf("u%d-%d", n.index, p)
			token := testTopics.Token(events.Messages, p, c.parts[p].Position()[events.Messages])
			got := make(chan *queryv1.GetInboxResponse, 1)
			go func() {
				res, err := n.query.GetInbox(t.Context(), connect.NewRequest(&queryv1.GetInboxRequest{UserId: user, After: []string{token}}))
				if err != nil {
					t.Error(err)
					got <- nil
					return
				}
				got <- res.Msg
			}()
			if joined := c.join(channel, user); joined != token {
				t.Fatalf("the record is %s, want %s", joined, token)
			}
			if res := <-got; res != nil && (len(res.Channels) != 1 || !slices.Equal(res.AsOf, []string{token})) {
				t.Errorf("node %d, partition %d: %v as of %v", n.index, p, ids(res.Channels), res.AsOf)
			}
		}
	}
}

// The next answer keeps the position of an earlier one, even if nothing of the user is left there.
// So an owner that is behind does not bring back deleted data.
func TestAsOfStaysWhereTheUserHadSomething(t *testing.T) {
	var l looks
	c := newCluster(t, 8, 2, l.configure)
	channel, other := c.channelOn("c", 3), c.channelOn("c", 6)
	c.join(channel, "ann")
	c.join(other, "ann")
	first := c.nodes[0].inbox(t, &queryv1.GetInboxRequest{UserId: "ann"})
	gone := c.message(channel, events.Message{Kind: events.KindChannelDeleted})
	c.store(3)
	if c.parts[3].MayKnow(projections.UserHash("ann")) {
		t.Fatal("partition 3 knows her still: the test shows nothing")
	}
	second := c.nodes[0].inbox(t, &queryv1.GetInboxRequest{UserId: "ann", After: append(first.AsOf, gone)})
	if len(second.Channels) != 1 || !slices.Contains(second.AsOf, gone) {
		t.Errorf("%v as of %v, which lacks %s", ids(second.Channels), second.AsOf, gone)
	}
	l.taken()
	third := c.nodes[1].inbox(t, &queryv1.GetInboxRequest{UserId: "ann", After: second.AsOf})
	if !slices.Equal(third.AsOf, second.AsOf) && !slices.Equal(slices.Sorted(slices.Values(third.AsOf)), slices.Sorted(slices.Values(second.AsOf))) {
		t.Errorf("as of %v after %v", third.AsOf, second.AsOf)
	}
	if got := l.taken(); !slices.Equal(got, []int32{6}) {
		t.Errorf("%v are read, want 6 alone", got)
	}
	if fresh := c.nodes[0].inbox(t, &queryv1.GetInboxRequest{UserId: "ann"}); !slices.Equal(partitionsOf(t, fresh.AsOf), []int32{6}) {
		t.Errorf("without after it is as of %v", fresh.AsOf)
	}
}

// A failed partition makes only those inboxes fail of whose users it may have something. The error
// names the partition.
func TestAFailedPartitionFailsOnlyWhoHasSomethingThere(t *testing.T) {
	c := newCluster(t, 8, 2)
	c.join(c.channelOn("c", 3), "ann")
	c.join(c.channelOn("c", 4), "ann", "bob")
	there := c.join(c.channelOn("d", 3), "eve")
	c.fail(3, true)
	for _, n := range c.nodes {
		for _, user := range []string{"bob", "nobody"} {
			inbox := n.inbox(t, &queryv1.GetInboxRequest{UserId: user})
			if slices.Contains(partitionsOf(t, inbox.AsOf), 3) {
				t.Errorf("node %d: %s is answered as of %v", n.index, user, inbox.AsOf)
			}
			if _, err := n.query.GetThreads(t.Context(), connect.NewRequest(&queryv1.GetThreadsRequest{UserId: user})); err != nil {
				t.Errorf("node %d: the threads of %s: %v", n.index, user, err)
			}
		}
		for user, after := range map[string][]string{"ann": nil, "eve": nil, "bob": {there}} {
			_, err := n.query.GetInbox(t.Context(), connect.NewRequest(&queryv1.GetInboxRequest{UserId: user, After: after}))
			if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "partition 3") && !strings.Contains(err.Error(), there) {
				t.Errorf("node %d: %s, after %v: got %v, want unavailable, and partition 3 named", n.index, user, after, err)
			}
		}
		if _, err := n.query.ListUserChannels(t.Context(), connect.NewRequest(&queryv1.ListUserChannelsRequest{OfUserId: "bob"})); connect.CodeOf(err) != connect.CodeUnavailable {
			t.Errorf("node %d: an erasure would leave out partition 3: %v", n.index, err)
		}
	}
	// The partition moves, and the new owner's users are unknown.
	c.move(3, testMoving)
	for _, n := range c.nodes {
		_, err := n.query.GetInbox(t.Context(), connect.NewRequest(&queryv1.GetInboxRequest{UserId: "bob"}))
		if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "partition 3") {
			t.Errorf("node %d: while it moves: %v", n.index, err)
		}
	}
	c.fail(3, false)
	c.move(3, 0)
	if inbox := c.nodes[1].inbox(t, &queryv1.GetInboxRequest{UserId: "ann"}); len(inbox.Channels) != 2 {
		t.Errorf("it is served again, and ann has %v", ids(inbox.Channels))
	}
}

// The error for a node that does not answer names its partitions.
func TestTheErrorNamesThePartitionsOfANodeThatIsGone(t *testing.T) {
	c := newCluster(t, 24, 2)
	c.nodes[1].srv.Close()
	_, err := c.nodes[0].query.GetInbox(t.Context(), connect.NewRequest(&queryv1.GetInboxRequest{UserId: "ann"}))
	if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "partitions 1,3,5,7,9,11,13,15 and 4 others: the node that owns the data cannot be reached") {
		t.Errorf("got %v", err)
	}
}

// A watch sends the channels of partitions that had nothing of the user when it began, on both
// nodes, and then their changes.
func TestAWatchHearsOfAFurtherPartition(t *testing.T) {
	c := newCluster(t, 8, 2)
	c.join(c.channelOn("c", 2), "ann")
	for _, n := range c.nodes {
		w := n.watch(t, t.Context(), "ann")
		w.next()
		for _, p := range []int32{5, 6} {
			channel := c.channelOn(fmt.Sprintf("n%d-", n.index), p)
			w.until(c.join(channel, "ann"))
			if got := w.channels[channel]; got == nil || !got.Member {
				t.Fatalf("node %d: partition %d: %v", n.index, p, got)
			}
			for i := range 3 {
				w.until(c.post(channel, fmt.Sprintf("m%d", i), "bob"))
			}
			if got := w.channels[channel]; got.Unread != 3 {
				t.Errorf("node %d: partition %d: %v", n.index, p, got)
			}
			w.until(c.leave(channel, "ann"))
			if got := w.channels[channel]; got.Member {
				t.Errorf("node %d: partition %d, after leaving: %v", n.index, p, got)
			}
		}
	}
}

// A watch begins although a partition has failed that has nothing of the user. It sends that
// partition's data once the partition is served again.
func TestAWatchHearsOfAPartitionThatWasLeftOut(t *testing.T) {
	c := newCluster(t, 8, 2)
	for _, n := range c.nodes {
		for _, p := range []int32{5, 6} {
			user := fmt.Sprintf("u%d-%d", n.index, p)
			c.join(c.channelOn("c", 2), user)
			c.fail(p, true)
			w := n.watch(t, t.Context(), user)
			w.next()
			channel := c.channelOn(fmt.Sprintf("n%d-", n.index), p)
			c.fail(p, false)
			w.until(c.join(channel, user)) // no signal reports this, because the watch did not follow the partition
			if got := w.channels[channel]; got == nil || !got.Member {
				t.Errorf("node %d: partition %d: %v", n.index, p, got)
			}
		}
	}
}

// store cuts partition p, so that deleted state leaves its memory.
func (c *cluster) store(p int32) {
	c.t.Helper()
	c.folding.Lock()
	defer c.folding.Unlock()
	for range 2 {
		cut, err := c.parts[p].Cut()
		if err == nil && cut != nil {
			err = cut.Apply()
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}
