package gateway

import (
	"context"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/query/queryv1"
)

// maxReaders limits a read_state frame, whose `truncated` states that there are more.
const maxReaders = 5_000

// maxAsking limits the read_state frames of a connection that wait for answers.
const maxAsking = 8

// readState answers a command with the read pointers of all members of a channel. It asks the
// owner, in a goroutine of its own. A user who has left by the time of the answer does not get it.
func (g *Gateway) readState(c *conn, cmd frames.Command) {
	answer := func() ([]byte, error) {
		g.plant("read_state")
		ctx, cancel := context.WithTimeout(c.Context(), 10*time.Second)
		defer cancel()
		select {
		case g.snapshots <- struct{}{}:
			defer func() { <-g.snapshots }()
		case <-ctx.Done():
			return nil, frames.Refuse(frames.Unavailable, "read_state: the gateway is busy: try again")
		}
		list, more, _, err := g.readers(g.as(ctx, c.user.id), cmd.ChannelID, g.memberSince(c, cmd.ChannelID), maxReaders)
		if connect.CodeOf(err) == connect.CodeNotFound && err != nil {
			return nil, notMember(cmd.ChannelID)
		}
		if err != nil {
			g.cfg.Logger.DebugContext(ctx, "the readers of a channel could not be asked for", "instance", c.Instance, "err", err)
			return nil, frames.Refuse(frames.Unavailable, "read_state: the channel's owner did not answer: try again")
		}
		if err := g.member(c, cmd.ChannelID); err != nil {
			return nil, err
		}
		if err := g.listed(ctx, c, cmd.ChannelID, list, more); err != nil {
			return nil, err
		}
		b := frames.Begin(make([]byte, 0, 128+128*len(list)), "read_state")
		b = frames.IDIf(b, cmd.ID)
		b = frames.Readers(frames.Text(b, "channel_id", cmd.ChannelID), list)
		if more {
			b = frames.Bool(b, "truncated", true)
		}
		return append(b, '}'), nil
	}
	if c.asking.Add(1) > maxAsking {
		c.asking.Add(-1)
		c.SendNow(frames.Failure(cmd.ID, frames.Refuse(frames.Exhausted, "read_state: %d requests wait for their answers, which is the limit: wait for one", maxAsking)))
		return
	}
	guard.Go("read_state", c.Panicked, func() {
		var b []byte
		err := guard.Err("read_state", func() (err error) { b, err = answer(); return err })
		c.asking.Add(-1)
		if guard.Of(err) != nil {
			g.cfg.Logger.ErrorContext(c.Context(), "read_state is not answered", append(guard.Attrs(err), "instance", c.Instance)...)
		}
		if err != nil {
			b = frames.Failure(cmd.ID, err)
		}
		c.Send(wire.Item{Frame: frames.Ready(b), Channel: cmd.ChannelID})
		c.Kick()
	})
}

// memberSince returns the token of the event of chat.messages from which on a user is known to be a
// member: a list that includes the event includes the user, unless they have left again. It is
// empty if no such event is known.
func (g *Gateway) memberSince(c *conn, channelID string) string {
	c.user.hub.mu.Lock()
	defer c.user.hub.mu.Unlock()
	e := c.user.entries[channelID]
	if e == nil || e.ch == nil {
		return ""
	}
	return strings.Join(g.passed(nil, events.PartitionOf([]byte(channelID), g.cfg.Partitions), e.memberUpTo), "")
}

// listed checks that the owner's list has the user. The feed may be behind or interrupted, so the
// user may have left without this gateway knowing. If only a part of the list was read, listed asks
// the owner about the user.
func (g *Gateway) listed(ctx context.Context, c *conn, channelID string, list []*queryv1.Reader, more bool) error {
	if slices.ContainsFunc(list, func(r *queryv1.Reader) bool { return r.UserId == c.user.id }) {
		return nil
	}
	if more {
		res, err := g.query.GetUnread(g.as(ctx, c.user.id), &queryv1.GetUnreadRequest{UserId: c.user.id, ChannelId: channelID})
		switch {
		case err != nil && connect.CodeOf(err) != connect.CodeNotFound:
			return frames.Refuse(frames.Unavailable, "read_state: the channel's owner did not answer: try again")
		case err == nil && res.Member:
			return nil
		}
	}
	return notMember(channelID)
}

// readers returns at most limit members of a channel with how far each has read, and whether there
// are more. next is how far the answer reaches in the channel's partition of chat.messages.
func (g *Gateway) readers(ctx context.Context, channelID, after string, limit int) (list []*queryv1.Reader, more bool, next int64, err error) {
	var tokens []string
	if after != "" {
		tokens = []string{after}
	}
	for page := ""; ; {
		size := uint32(min(limit-len(list), inboxPage))
		res, err := g.query.GetReaders(ctx, &queryv1.GetReadersRequest{ChannelId: channelID, PageSize: size, PageToken: page, After: tokens})
		if err != nil {
			return nil, false, 0, err
		}
		if page == "" {
			next = g.position(res.AsOf)[events.PartitionOf([]byte(channelID), g.cfg.Partitions)].M
		}
		list = append(list, res.Readers...)
		if page = res.NextPageToken; page == "" || len(list) >= limit {
			return list, page != "", next, nil
		}
	}
}

// listMembers is the presence.Lister of the reporter. It calls on the gateway's own account.
func (g *Gateway) listMembers(ctx context.Context, channelID, after string, limit int) (users []string, next int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	list, _, next, err := g.readers(g.asItself(ctx), channelID, after, limit+1)
	for _, r := range list {
		users = append(users, r.UserId)
	}
	return users, next, err
}
