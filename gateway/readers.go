package gateway

import (
	"context"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/queryv1"
)

// maxReaders bounds a read_state frame, whose `truncated` says that there are more.
const maxReaders = 5_000

// maxAsking bounds the read_state frames of a connection that wait for their answers.
const maxAsking = 8

// readState answers a command with where all members of a channel stand. It asks the owner, beside the connection, like
// an inbox does; and whoever has left by the time the answer comes is not told.
func (g *Gateway) readState(c *conn, cmd command) {
	answer := func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
		defer cancel()
		select {
		case g.snapshots <- struct{}{}:
			defer func() { <-g.snapshots }()
		case <-ctx.Done():
			return nil, refuse(codeUnavailable, "read_state: the gateway is busy: try again")
		}
		list, more, _, err := g.readers(ctx, c.token, cmd.ChannelID, g.memberSince(c, cmd.ChannelID), maxReaders)
		if connect.CodeOf(err) == connect.CodeNotFound && err != nil {
			return nil, notMember(cmd.ChannelID)
		}
		if err != nil {
			g.cfg.Logger.Debug("the readers of a channel could not be asked for", "instance", c.instance, "err", err)
			return nil, refuse(codeUnavailable, "read_state: the channel's owner did not answer: try again")
		}
		if err := g.member(c, cmd.ChannelID); err != nil {
			return nil, err
		}
		if err := g.listed(ctx, c, cmd.ChannelID, list, more); err != nil {
			return nil, err
		}
		b := begin(make([]byte, 0, 128+128*len(list)), "read_state")
		b = idIf(b, cmd.ID)
		b = appendReaders(text(b, "channel_id", cmd.ChannelID), list)
		if more {
			b = boolean(b, "truncated", true)
		}
		return append(b, '}'), nil
	}
	if c.asking.Add(1) > maxAsking {
		c.asking.Add(-1)
		c.sendNow(errorFrame(cmd.ID, refuse(codeExhausted, "read_state: %d wait for their answers, which is the limit", maxAsking)))
		return
	}
	go func() {
		b, err := answer()
		c.asking.Add(-1)
		if err != nil {
			b = errorFrame(cmd.ID, err)
		}
		c.send(item{body: b, channel: cmd.ChannelID})
		c.kick()
	}()
}

// memberSince is the event of the timeline from which on a user is known to be a member: a list that includes it has him in
// it, unless he has left again. Empty: none was seen.
func (g *Gateway) memberSince(c *conn, channelID string) string {
	g.hub.mu.Lock()
	defer g.hub.mu.Unlock()
	e := c.user.entries[channelID]
	if e == nil || e.ch == nil {
		return ""
	}
	return strings.Join(g.passed(nil, events.PartitionOf([]byte(channelID), g.cfg.Partitions), e.word), "")
}

// listed checks that a user is among the members of a channel by what its owner answered: the feed may be behind, or cut
// off, and not know yet that he has left. Of a list that goes on behind its end the owner is asked.
func (g *Gateway) listed(ctx context.Context, c *conn, channelID string, list []*queryv1.Reader, more bool) error {
	if slices.ContainsFunc(list, func(r *queryv1.Reader) bool { return r.UserId == c.user.id }) {
		return nil
	}
	if more {
		req := connect.NewRequest(&queryv1.GetUnreadRequest{UserId: c.user.id, ChannelId: channelID})
		g.authorize(req.Header(), c.token)
		res, err := g.query.GetUnread(ctx, req)
		switch {
		case err != nil && connect.CodeOf(err) != connect.CodeNotFound:
			return refuse(codeUnavailable, "read_state: the channel's owner did not answer: try again")
		case err == nil && res.Msg.Member:
			return nil
		}
	}
	return notMember(channelID)
}

// readers are the members of a channel and how far each has read, at most limit; more says that there are others. next
// is how far the answer reaches in the channel's partition of chat.messages.
func (g *Gateway) readers(ctx context.Context, token, channelID, after string, limit int) (list []*queryv1.Reader, more bool, next int64, err error) {
	var tokens []string
	if after != "" {
		tokens = []string{after}
	}
	for page := ""; ; {
		size := uint32(min(limit-len(list), inboxPage))
		req := connect.NewRequest(&queryv1.GetReadersRequest{ChannelId: channelID, PageSize: size, PageToken: page, After: tokens})
		g.authorize(req.Header(), token)
		res, err := g.query.GetReaders(ctx, req)
		if err != nil {
			return nil, false, 0, err
		}
		if page == "" {
			at := position{}
			at.add(&g.cfg.Topics, res.Msg.AsOf)
			next = at[events.PartitionOf([]byte(channelID), g.cfg.Partitions)].M
		}
		list = append(list, res.Msg.Readers...)
		if page = res.Msg.NextPageToken; page == "" || len(list) >= limit {
			return list, page != "", next, nil
		}
	}
}

// listMembers is who may have messages queued: it is asked on the gateway's own account.
func (g *Gateway) listMembers(ctx context.Context, channelID, after string, limit int) (users []string, next int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	list, _, next, err := g.readers(ctx, "", channelID, after, limit+1)
	for _, r := range list {
		users = append(users, r.UserId)
	}
	return users, next, err
}
