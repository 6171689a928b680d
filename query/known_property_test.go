package query

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

// everybody reads all partitions for a user.
type everybody struct {
	unread  map[string]uint32 // by channel
	threads map[string]uint32 // by channel and thread
	total   uint32
}

func (c *cluster) everybody(user string) everybody {
	c.t.Helper()
	e := everybody{unread: map[string]uint32{}, threads: map[string]uint32{}}
	for _, p := range c.parts {
		p.RLock()
		asked := &model.WithCold{Partition: p}
		err := asked.Inbox(user, func(in *projections.InboxEntry) bool {
			e.unread[string(in.ChannelID)] = in.Unread
			e.total += in.Unread
			return true
		})
		if err == nil {
			err = asked.Threads(user, func(v *projections.ThreadView) bool {
				e.threads[v.ChannelID+"\x00"+v.ThreadID] = v.Unread
				return true
			})
		}
		asked.Close()
		p.RUnlock()
		if err != nil {
			c.t.Fatal(err)
		}
	}
	return e
}

// After any folds, cuts, moves and failures, an inbox equals the answer from all partitions. It is
// unavailable only if a failed partition has something of the user. Along a chain of answers the
// position never goes back.
func TestWhoKnowsIsEverybodyWhoHas(t *testing.T) {
	seed := rand.Uint64() //nolint:gosec // of this test alone
	t.Logf("seed %d", seed)
	scripts, steps := 6, 250
	if testing.Short() {
		scripts, steps = 2, 150
	}
	for i := range scripts {
		r := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // of this test alone
		c := newCluster(t, 12, 1+i%3)
		chains := map[string][]string{} // by user, the last as_of
		for step := range steps {
			c.randomStep(r, step)
			user := fmt.Sprintf("u%d", r.IntN(6))
			n := c.nodes[r.IntN(len(c.nodes))]
			after := chains[user]
			if r.IntN(3) == 0 {
				after = nil
			}
			c.compare(t, n, user, after, chains)
			if t.Failed() {
				t.Fatalf("script %d, step %d", i, step)
			}
		}
		for p := range c.failed {
			c.fail(p, false)
		}
		for user := range chains {
			c.compare(t, c.nodes[0], user, chains[user], chains)
		}
	}
}

// randomStep folds a record, or changes a partition.
func (c *cluster) randomStep(r *rand.Rand, step int) {
	channel, user := fmt.Sprintf("c%d", r.IntN(40)), fmt.Sprintf("u%d", r.IntN(6))
	p := partitionOf(channel, int32(len(c.parts)))
	if c.failed[p] {
		c.fail(p, r.IntN(3) > 0) // a failed partition folds nothing
		return
	}
	switch r.IntN(14) {
	case 0, 1, 2, 3:
		c.join(channel, user)
	case 4:
		c.leave(channel, user)
	case 5, 6, 7:
		c.post(channel, fmt.Sprintf("m%d", step), fmt.Sprintf("u%d", r.IntN(6)), user)
	case 8:
		c.message(channel, events.Message{
			Kind: events.KindMessagePosted, MessageID: fmt.Appendf(nil, "r%d", step), SenderID: []byte("u0"),
			ThreadID: []byte("t"), IDs: [][]byte{[]byte(user)},
		})
	case 9:
		c.readUpTo(channel, user, uint32(r.IntN(5)+1))
	case 10:
		c.message(channel, events.Message{Kind: events.KindChannelDeleted})
	case 11:
		c.leave(channel, user)
		c.read(events.Read{Kind: events.KindUserErased}, channel, user)
	case 12:
		c.store(p)
	case 13:
		if r.IntN(2) == 0 {
			c.move(p, r.IntN(len(c.nodes)))
		} else {
			c.fail(p, true)
		}
	}
}

// compare compares a node's answer with that of all partitions.
func (c *cluster) compare(t *testing.T, n *node, user string, after []string, chains map[string][]string) {
	t.Helper()
	want := c.everybody(user)
	fails := false
	for p, failed := range c.failed {
		fails = fails || failed && (c.parts[p].MayKnow(projections.UserHash(user)) || slices.Contains(partitionsOf(t, after), p))
	}
	inbox, err := n.query.GetInbox(t.Context(), connect.NewRequest(&queryv1.GetInboxRequest{UserId: user, After: after, PageSize: 1000}))
	threads, err2 := n.query.GetThreads(t.Context(), connect.NewRequest(&queryv1.GetThreadsRequest{UserId: user, After: after, PageSize: 1000}))
	if fails {
		if connect.CodeOf(err) != connect.CodeUnavailable || connect.CodeOf(err2) != connect.CodeUnavailable {
			t.Errorf("%s has something in a partition that has failed: got %v and %v", user, err, err2)
		}
		return
	}
	if err != nil || err2 != nil {
		t.Errorf("%s: %v, %v", user, err, err2)
		return
	}
	got := everybody{unread: map[string]uint32{}, threads: map[string]uint32{}, total: inbox.Msg.Totals.Unread}
	for _, ch := range inbox.Msg.Channels {
		got.unread[ch.ChannelId] = ch.Unread
	}
	for _, th := range threads.Msg.Threads {
		got.threads[th.ChannelId+"\x00"+th.ThreadId] = th.Unread
	}
	if !maps.Equal(got.unread, want.unread) || !maps.Equal(got.threads, want.threads) || got.total != want.total {
		t.Errorf("%s: node %d says\n%v\nand everybody has\n%v", user, n.index, got, want)
	}
	asOf := partitionsOf(t, inbox.Msg.AsOf)
	for _, p := range partitionsOf(t, after) {
		if !slices.Contains(asOf, p) {
			t.Errorf("%s: as of %v, and after names %d", user, asOf, p)
		}
	}
	for p := range c.parts {
		if knows := c.parts[p].MayKnow(projections.UserHash(user)); knows != slices.Contains(asOf, int32(p)) && !slices.Contains(partitionsOf(t, after), int32(p)) {
			t.Errorf("%s: as of %v, and partition %d knows them: %v", user, asOf, p, knows)
		}
	}
	chains[user] = inbox.Msg.AsOf
}
