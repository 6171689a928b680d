package query

import (
	"context"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/cold"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/owners"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// ListUserChannels lists the channels in which a user has a row, by id, for an erasure (DESIGN §12,
// erase-user). Its request has no field user_id, so a user's token is refused: users may not ask
// about channels that they have left. Like GetInbox it calls every owner and merges.
func (s *service) ListUserChannels(ctx context.Context, req *connect.Request[queryv1.ListUserChannelsRequest]) (*connect.Response[queryv1.ListUserChannelsResponse], error) {
	m := req.Msg
	l, err := s.listing(m, req.Header().Get(headerPartitions), fault.ID{Field: "of_user_id", Value: m.OfUserId}, paging.UserChannelScope(m.OfUserId), false)
	if err != nil {
		return nil, err
	}
	l.about = owners.Everything() // an erasure leaves nothing out
	page := &userChannelPage{user: m.OfUserId, size: l.size}
	if l.from != nil {
		page.after = l.from.ID
	}
	local := func(ctx context.Context, ps []int32) (*queryv1.ListUserChannelsResponse, error) {
		return s.localUserChannels(ctx, ps, l.after, page)
	}
	merge := func(parts []*queryv1.ListUserChannelsResponse) *queryv1.ListUserChannelsResponse {
		return mergeUserChannels(parts, page, s.now())
	}
	return list(ctx, s, m, l, queryv1connect.QueryServiceClient.ListUserChannels, local, merge)
}

// mergeUserChannels merges the pages of all owners into one.
func mergeUserChannels(parts []*queryv1.ListUserChannelsResponse, page *userChannelPage, now time.Time) *queryv1.ListUserChannelsResponse {
	res := &queryv1.ListUserChannelsResponse{}
	more := false
	for _, p := range parts {
		res.Channels = append(res.Channels, p.Channels...)
		res.AsOf = append(res.AsOf, p.AsOf...)
		more = more || p.NextPageToken != ""
	}
	page.cut(res, more, now)
	return res
}

// userChannelPage selects a page of channels.
type userChannelPage struct {
	user, after string
	size        int
}

func (p *userChannelPage) cut(res *queryv1.ListUserChannelsResponse, more bool, now time.Time) {
	slices.SortFunc(res.Channels, func(a, b *queryv1.UserChannel) int { return strings.Compare(a.ChannelId, b.ChannelId) })
	if len(res.Channels) > p.size {
		clear(res.Channels[p.size:])
		res.Channels, more = res.Channels[:p.size], true
	}
	if more {
		last := paging.Key{ID: res.Channels[len(res.Channels)-1].ChannelId}
		res.NextPageToken = paging.Encode(paging.UserChannelScope(p.user), false, last, now)
	}
}

// localUserChannels reads the partitions ps, all of which must be live here.
func (s *service) localUserChannels(ctx context.Context, ps []int32, a position.After, page *userChannelPage) (*queryv1.ListUserChannelsResponse, error) {
	res := &queryv1.ListUserChannelsResponse{}
	for _, p := range ps { // waits for each and reads it alone, so that results are copied without the lock
		rows := projections.NewUserPage(page.after, page.size+1)
		at, err := s.fillUserPage(ctx, p, a, rows, page.user)
		if err != nil {
			return nil, err
		}
		res.AsOf = s.topics.AsOf(res.AsOf, p, at)
		for _, r := range rows.Rows {
			res.Channels = append(res.Channels, &queryv1.UserChannel{ChannelId: string(r.ChannelID), Member: r.Member, Erased: r.Erased})
		}
	}
	page.cut(res, false, s.now())
	return res, nil
}

// fillUserPage fills rows from partition p, as of a or later.
func (s *service) fillUserPage(ctx context.Context, p int32, a position.After, rows *projections.UserPage, userID string) (at projections.Position, err error) {
	if err := s.wait(ctx, a, p); err != nil {
		return at, err
	}
	var share cold.Share
	defer share.Close()
	err = s.readUser(ctx, p, userID, &share, func(part *projections.Partition, cold projections.Source) {
		defer part.TimeHold("ListUserChannels")()
		_ = rows.Fill(part, cold, userID) // readUser returns this error, as the partition's Err
		at = part.Position()
	})
	if ctx.Err() != nil {
		return at, fault.Unavailable("the channels could not be read in time: %v", ctx.Err())
	}
	if err != nil {
		return at, fault.Unavailable("partition %d cannot be read here: %v", p, err)
	}
	return at, nil
}
