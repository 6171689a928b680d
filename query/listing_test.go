package query

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

// TestUsersWaitUntilAllChannelsAreListed: a partition that was just opened answers about channels, and
// about users once it knows all their channels. Until then it never leaves one out.
func TestUsersWaitUntilAllChannelsAreListed(t *testing.T) {
	c := newCluster(t, 1, 1)
	fs := vfs.NewMem()
	memory := int64(0)
	reopen := func() *projections.Partition {
		p, err := projections.Open("p", c.parts[0].Identity(), projections.Options{FS: fs, Memory: func() int64 { return memory }, ListLater: true})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	shut := c.parts[0]
	c.parts[0] = reopen()
	for _, id := range []string{"a", "b", "c", "d"} {
		c.join(id, "ann", "bob")
		c.post(id, "m-"+id, "bob")
	}
	c.parts[0].Drain(nil, true)
	k, err := c.parts[0].Cut()
	if err == nil {
		err = k.Apply()
	}
	if err == nil {
		err = c.parts[0].Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	memory = 1
	c.parts[0] = reopen()
	t.Cleanup(func() {
		p := c.parts[0]
		c.parts[0] = shut
		p.Lock()
		defer p.Unlock()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	q := c.nodes[0].query
	unread := func(when string) {
		t.Helper()
		for _, id := range []string{"a", "b", "c", "d"} {
			res, err := q.GetUnread(t.Context(), connect.NewRequest(&queryv1.GetUnreadRequest{UserId: "ann", ChannelId: id}))
			if err != nil || res.Msg.GetUnread() != 1 {
				t.Errorf("%s: %v unread in %s, %v", when, res, id, err)
			}
		}
		if _, err := q.GetUnread(t.Context(), connect.NewRequest(&queryv1.GetUnreadRequest{UserId: "ann", ChannelId: "nowhere"})); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("%s: a channel that is not there: %v", when, err)
		}
	}
	inbox := func() (int, error) {
		res, err := q.GetInbox(t.Context(), connect.NewRequest(&queryv1.GetInboxRequest{UserId: "ann"}))
		if err != nil {
			return 0, err
		}
		return len(res.Msg.GetChannels()), nil
	}
	for more := true; more; {
		unread("before all is listed")
		if n, err := inbox(); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "does not know the channels of its users yet") {
			t.Errorf("an inbox before all is listed has %d channels: %v", n, err)
		}
		if more, err = c.parts[0].List(1); err != nil {
			t.Fatal(err)
		}
	}
	unread("once all is listed")
	if n, err := inbox(); n != 4 || err != nil {
		t.Errorf("an inbox once all is listed has %d channels: %v", n, err)
	}
	c.read(events.Read{Kind: events.KindReadUpTo, Target: events.TargetMessageID, MessageID: []byte("m-b")}, "b", "ann")
	if n, err := inbox(); n != 4 || err != nil {
		t.Errorf("after a read it has %d channels: %v", n, err)
	}
}
