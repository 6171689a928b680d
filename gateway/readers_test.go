package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/query/queryv1"
)

// owner answers for a channel as the test configures it.
type owner struct {
	Queries
	readers []string
	member  bool
	err     error
	after   []string // the requirement of the last query about readers or a count
	asked   int      // queries about one user
}

func (o *owner) GetReaders(_ context.Context, r *queryv1.GetReadersRequest) (*queryv1.GetReadersResponse, error) {
	res := &queryv1.GetReadersResponse{}
	from := 0
	if r.PageToken != "" {
		_, _ = fmt.Sscan(r.PageToken, &from)
	} else {
		o.after = r.After
	}
	to := min(from+int(r.PageSize), len(o.readers))
	for _, id := range o.readers[from:to] {
		res.Readers = append(res.Readers, &queryv1.Reader{UserId: id})
	}
	if to < len(o.readers) {
		res.NextPageToken = fmt.Sprint(to)
	}
	return res, nil
}

func (o *owner) GetUnread(_ context.Context, r *queryv1.GetUnreadRequest) (*queryv1.ChannelUnread, error) {
	o.asked++
	o.after = r.After
	return &queryv1.ChannelUnread{ChannelId: r.ChannelId, Member: o.member}, o.err
}

// While the feed is behind or interrupted, the gateway still takes a user who has left for a
// member. They do not get the later reads of others: the owner's list, which must be as new as
// their joining, does not have these reads.
func TestWhoLeftUnseenIsNotToldWhoRead(t *testing.T) {
	crowd := make([]string, maxReaders+1)
	for i := range crowd {
		crowd[i] = fmt.Sprintf("user%05d", i)
	}
	for name, c := range map[string]struct {
		owner owner
		want  string // a frame's type, or an error's code
		asked int
	}{
		"a member":                            {owner{readers: []string{"ann", "bob"}}, "read_state", 0},
		"one who has left":                    {owner{readers: []string{"bob"}}, frames.NotFound, 0},
		"a member behind the end of the list": {owner{readers: crowd, member: true}, "read_state", 1},
		"nobody behind the end of the list":   {owner{readers: crowd}, frames.NotFound, 1},
		"the channel is gone by then":         {owner{readers: crowd, err: connect.NewError(connect.CodeNotFound, errors.New("gone"))}, frames.NotFound, 1},
		"its owner says nothing more by then": {owner{readers: crowd, err: connect.NewError(connect.CodeUnavailable, errors.New("moving"))}, frames.Unavailable, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := bare()
				g.snapshots = make(chan struct{}, 1)
				g.query = &c.owner
				u := g.someone("ann")
				g.admit(g.hubs.list[0], members(events.KindMembersJoined, "general", "ann"), 11)
				d := g.device(t, u)
				g.readState(d, frames.Command{ID: frames.ID(`"1"`), ChannelID: "general"})
				synctest.Wait()
				list := d.waiting(t)
				if len(list) != 1 || firstOf(list[0], "code", "type") != c.want || c.owner.asked != c.asked {
					t.Errorf("%v, after %d questions; want %s, after %d", list, c.owner.asked, c.want, c.asked)
				}
				if want := []string{events.TopicMessages + "/0/11"}; c.asked == 0 && !slices.Equal(c.owner.after, want) {
					t.Errorf("the list had to include %v, want %v", c.owner.after, want)
				}
			})
		})
	}
}

// device returns a connection of a user that reads nothing, so its frames stay queued.
func (g *Gateway) device(t *testing.T, u *user) *conn {
	c := g.loadingDevice(t, u)
	c.loading = false
	u.conns = append(u.conns, c)
	return c
}

// loadingDevice returns a connection whose inbox is being read, and that is not registered with its
// user yet.
func (g *Gateway) loadingDevice(t *testing.T, u *user) *conn {
	return &conn{g: g, load: g.load, Conn: wire.Unconnected(t.Context(), g.wireSettings(), "device"), user: u, loading: true}
}

// waiting returns a connection's queued frames.
func (c *conn) waiting(t *testing.T) (list []map[string]any) {
	t.Helper()
	for _, it := range c.Waiting() {
		var f map[string]any
		if err := json.Unmarshal(it.Bytes(), &f); err != nil {
			t.Fatalf("%s: %v", it.Bytes(), err)
		}
		list = append(list, f)
	}
	return list
}

func firstOf(f map[string]any, names ...string) any {
	for _, name := range names {
		if v, ok := f[name]; ok {
			return v
		}
	}
	return nil
}
