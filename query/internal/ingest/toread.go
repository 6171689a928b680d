package ingest

import (
	"context"
	"maps"
	"slices"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/queryv1"
)

// Queries is the part of the query service that MarkAllRead uses.
type Queries interface {
	GetInbox(context.Context, *connect.Request[queryv1.GetInboxRequest]) (*connect.Response[queryv1.GetInboxResponse], error)
	GetThreads(context.Context, *connect.Request[queryv1.GetThreadsRequest]) (*connect.Response[queryv1.GetThreadsResponse], error)
	GetUnread(context.Context, *connect.Request[queryv1.GetUnreadRequest]) (*connect.Response[queryv1.ChannelUnread], error)
	GetChannel(context.Context, *connect.Request[queryv1.GetChannelRequest]) (*connect.Response[queryv1.GetChannelResponse], error)
}

// toRead is a channel to read up to seq; 0: it has a flag, but nothing to read.
type toRead struct {
	*queryv1.ChannelUnread
	seq uint32
}

// eachToRead calls fn for every channel of the user, including archived ones, that has unread
// messages, is flagged or, if the request says so, has a followed thread of any age with unread
// replies, and that has the label of the request, if any. It reads page by page; a channel that
// changes meanwhile is seen either before or after the change.
func (g *Service) eachToRead(ctx context.Context, m *ingestv1.MarkAllReadRequest, fn func(toRead) error) error {
	replies := map[string]uint32{}
	if m.Threads {
		var err error
		if replies, err = g.unreadReplies(ctx, m); err != nil {
			return err
		}
	}
	take := func(c *queryv1.ChannelUnread) error {
		seq := max(c.Latest.GetSeq(), c.LastRead.GetSeq(), replies[c.ChannelId])
		if c.Unread > 0 && c.Latest.GetSeq() == 0 { // all unread messages are seeded
			head, err := g.cfg.Queries.GetChannel(ctx, connect.NewRequest(&queryv1.GetChannelRequest{ChannelId: c.ChannelId, After: m.After}))
			if connect.CodeOf(err) == connect.CodeNotFound {
				return nil // deleted meanwhile
			}
			if err != nil {
				return err
			}
			seq = max(seq, head.Msg.HeadSeq)
		}
		return fn(toRead{c, seq})
	}
	for r := (&queryv1.GetInboxRequest{UserId: m.UserId, UnreadOnly: true, Label: m.Label, Archived: "all", PageSize: paging.MaxSize, After: m.After}); ; {
		page, err := g.cfg.Queries.GetInbox(ctx, connect.NewRequest(r))
		if err != nil {
			return err
		}
		for _, c := range page.Msg.Channels {
			if err := take(c); err != nil {
				return err
			}
			delete(replies, c.ChannelId)
		}
		if r.PageToken = page.Msg.NextPageToken; r.PageToken == "" {
			break
		}
	}
	rest, err := g.unread(ctx, m, slices.Sorted(maps.Keys(replies))) // channels with unread threads only
	if err != nil {
		return err
	}
	for _, c := range rest {
		if c != nil && c.Member && (m.Label == "" || slices.Contains(c.Labels, m.Label)) {
			if err := take(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// asksAtOnce is how many channels are requested at the same time.
const asksAtOnce = 16

// unread requests channels, several at a time, because a user may have unread replies in thousands
// of them. The result for a channel that was deleted meanwhile is nil.
func (g *Service) unread(ctx context.Context, m *ingestv1.MarkAllReadRequest, ids []string) ([]*queryv1.ChannelUnread, error) {
	list := make([]*queryv1.ChannelUnread, len(ids))
	all, ctx := guard.WithContext(ctx)
	all.SetLimit(asksAtOnce)
	for i, id := range ids {
		all.Go("asking for a channel with unread threads", func() error {
			c, err := g.cfg.Queries.GetUnread(ctx, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: m.UserId, ChannelId: id, After: m.After}))
			switch {
			case connect.CodeOf(err) == connect.CodeNotFound:
				return nil
			case err != nil:
				return err
			}
			list[i] = c.Msg
			return nil
		})
	}
	return list, all.Wait()
}

// unreadReplies finds the channels with a followed thread that has unread replies, including
// threads that are too old for panels, and for each the seq of the newest last reply of these
// threads.
func (g *Service) unreadReplies(ctx context.Context, m *ingestv1.MarkAllReadRequest) (map[string]uint32, error) {
	newest := map[string]uint32{}
	for r := (&queryv1.GetThreadsRequest{UserId: m.UserId, AnyAge: true, PageSize: paging.MaxSize, After: m.After}); ; {
		page, err := g.cfg.Queries.GetThreads(ctx, connect.NewRequest(r))
		if err != nil {
			return nil, err
		}
		for _, t := range page.Msg.Threads {
			if t.Unread == 0 {
				return newest, nil // unread threads come first
			}
			newest[t.ChannelId] = max(newest[t.ChannelId], t.LastReply.GetSeq())
		}
		if r.PageToken = page.Msg.NextPageToken; r.PageToken == "" {
			return newest, nil
		}
	}
}
