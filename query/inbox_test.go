package query

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/queryv1"
)

func (n *node) inbox(t testing.TB, req *queryv1.GetInboxRequest) *queryv1.GetInboxResponse {
	t.Helper()
	res, err := n.query.GetInbox(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatalf("GetInbox(%v): %v", req, err)
	}
	return res.Msg
}

func ids(channels []*queryv1.ChannelUnread) []string {
	out := make([]string, len(channels))
	for i, c := range channels {
		out[i] = c.ChannelId
	}
	return out
}

func TestInboxOrderAndTotals(t *testing.T) {
	c := newCluster(t, 4, 3)
	for _, ch := range []string{"read-old", "unread-old", "muted", "empty-b", "empty-a", "unread-new", "read-new", "left"} {
		c.join(ch, "ann", "bob")
	}
	c.post("read-old", "m", "bob")
	c.post("unread-old", "m1", "bob")
	c.post("unread-old", "m2", "bob", "ann")
	c.post("muted", "m", "bob", "ann")
	c.post("read-new", "m", "bob")
	c.post("left", "m", "bob")
	c.readUpTo("read-old", "ann", 1)
	c.readUpTo("read-new", "ann", 1)
	c.mute("muted", "ann", true)
	c.leave("left", "ann")
	c.post("unread-new", "m", "bob")

	want := []string{"unread-new", "muted", "unread-old", "read-new", "read-old", "empty-a", "empty-b"}
	totals := &queryv1.Totals{Unread: 3, Mentions: 1, UnreadChannels: 2, Badge: 3, Archived: &queryv1.ArchivedTotals{}}
	for _, n := range c.nodes {
		got := n.inbox(t, &queryv1.GetInboxRequest{UserId: "ann"})
		if !slices.Equal(ids(got.Channels), want) {
			t.Errorf("node %d: order %v, want %v", n.index, ids(got.Channels), want)
		}
		if !proto.Equal(got.Totals, totals) {
			t.Errorf("node %d: totals %v, want %v", n.index, got.Totals, totals)
		}
		if got.NextPageToken != "" {
			t.Errorf("node %d: a token though all is listed", n.index)
		}
		for _, ch := range got.Channels {
			single := n.unread(t, "ann", ch.ChannelId)
			single.AsOf, single.EvaluatedAt = nil, nil
			if !proto.Equal(ch, single) {
				t.Errorf("node %d: the inbox says %v, GetUnread %v", n.index, ch, single)
			}
		}

		unread := n.inbox(t, &queryv1.GetInboxRequest{UserId: "ann", UnreadOnly: true})
		if !slices.Equal(ids(unread.Channels), want[:3]) || !proto.Equal(unread.Totals, totals) {
			t.Errorf("node %d: unread only: %v %v", n.index, ids(unread.Channels), unread.Totals)
		}
	}
}

func TestInboxAsOfCoversEveryPartition(t *testing.T) {
	c := newCluster(t, 5, 2)
	var want []string
	for p := range int32(5) {
		want = append(want, c.join(c.channelOn("c", p), "ann"))
	}
	got := c.nodes[0].inbox(t, &queryv1.GetInboxRequest{UserId: "ann"})
	for _, token := range want {
		if !slices.Contains(got.AsOf, token) {
			t.Errorf("as_of %v lacks %s", got.AsOf, token)
		}
	}
	if len(got.AsOf) != len(want) {
		t.Errorf("as_of has %v, want one for each partition", got.AsOf)
	}
}

func TestInboxWaitsOnEveryOwner(t *testing.T) {
	c := newCluster(t, 4, 3)
	var after []string
	for p := range int32(4) {
		c.join(c.channelOn("c", p), "ann")
		after = append(after, testTopics.Token(events.Messages, p, 1))
	}
	done := make(chan *queryv1.GetInboxResponse, 1)
	go func() {
		res, err := c.nodes[0].query.GetInbox(t.Context(), connect.NewRequest(&queryv1.GetInboxRequest{UserId: "ann", After: after}))
		if err != nil {
			t.Error(err)
			close(done)
			return
		}
		done <- res.Msg
	}()
	for p := range int32(4) {
		select {
		case <-done:
			t.Fatalf("answered though partition %d is behind", p)
		case <-time.After(5 * time.Millisecond):
		}
		c.post(c.channelOn("c", p), "m", "bob")
	}
	if res := <-done; res != nil && res.Totals.Unread != 4 {
		t.Errorf("totals %v, want 4 unread", res.Totals)
	}
}

// A page token is a position in the order: an entry that does not change is listed exactly once,
// however much the others move.
func TestPagingIsStableWhileOthersChange(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	c := newCluster(t, 3, 2)
	still := map[string]int{}
	for i := range 60 {
		ch := fmt.Sprintf("ch%02d", i)
		c.join(ch, "ann", "bob")
		if i%3 > 0 {
			c.post(ch, "m", "bob")
		}
		if i%2 == 0 {
			still[ch] = 0
		}
	}
	req := &queryv1.GetInboxRequest{UserId: "ann", PageSize: 4}
	var last *paging.Key
	for page := 0; ; page++ {
		if page > 200 {
			t.Fatal("paging does not end")
		}
		res := c.nodes[rnd.IntN(2)].inbox(t, req)
		for _, ch := range res.Channels {
			k := keyOf(ch)
			if last != nil && !last.Before(k) {
				t.Errorf("page %d goes back from %v to %v", page, *last, k)
			}
			last = &k
			if _, ok := still[ch.ChannelId]; ok {
				still[ch.ChannelId]++
			}
		}
		if res.NextPageToken == "" {
			break
		}
		req.PageToken = res.NextPageToken
		for range 5 {
			ch := fmt.Sprintf("ch%02d", 1+2*rnd.IntN(30))
			switch rnd.IntN(3) {
			case 0:
				c.post(ch, fmt.Sprintf("p%d-%d", page, rnd.Uint64()), "bob")
			case 1:
				c.readUpTo(ch, "ann", 1+uint32(rnd.IntN(2)))
			case 2:
				c.leave(ch, "ann")
			}
		}
	}
	for ch, n := range still {
		if n != 1 {
			t.Errorf("%s, which did not change, was listed %d times", ch, n)
		}
	}
}

func TestInboxTokenAges(t *testing.T) {
	clock := noon
	c := newCluster(t, 2, 1, func(cfg *Config) { cfg.Now = func() time.Time { return clock } })
	for i := range 3 {
		c.join(fmt.Sprintf("c%d", i), "ann")
	}
	token := c.nodes[0].inbox(t, &queryv1.GetInboxRequest{UserId: "ann", PageSize: 1}).NextPageToken
	clock = clock.Add(paging.MaxAge + time.Second)
	status, got := c.nodes[0].callJSON(t, "GetInbox", fmt.Sprintf(`{"user_id":"ann","page_token":%q}`, token))
	if status != 400 || !strings.Contains(got, "page_token has aged: it is good for 10 minutes: start again without page_token") {
		t.Errorf("got %d %s", status, got)
	}
}

// The clocks of two nodes may differ: the called node checks a token's age, not the nodes that it
// calls.
func TestInboxTokenAgesByOneClock(t *testing.T) {
	nodes := 0
	c := newCluster(t, 2, 2, func(cfg *Config) {
		ahead := time.Duration(nodes) * time.Hour
		nodes++
		cfg.Now = func() time.Time { return noon.Add(ahead) }
	})
	want := map[string]bool{}
	for p := range int32(2) {
		for _, prefix := range []string{"a", "b"} {
			ch := c.channelOn(prefix, p)
			c.join(ch, "ann")
			want[ch] = true
		}
	}
	req := &queryv1.GetInboxRequest{UserId: "ann", PageSize: 1}
	for {
		res := c.nodes[0].inbox(t, req)
		for _, ch := range res.Channels {
			delete(want, ch.ChannelId)
		}
		if req.PageToken = res.NextPageToken; req.PageToken == "" {
			break
		}
	}
	if len(want) > 0 {
		t.Errorf("never listed: %v", want)
	}
}

func TestRestrictionIsChecked(t *testing.T) {
	if got, err := position.ParsePartitions(headerPartitions, "0,2,3", 4); err != nil || !slices.Equal(got, []int32{0, 2, 3}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"x", "4", "-1", "1,1", "2,1", "1,", ","} {
		if _, err := position.ParsePartitions(headerPartitions, bad, 4); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}
