package query

import (
	"context"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// ListUserChannels lists the channels in which anything is known of a user, by id: what an erasure has to go through
// (DESIGN §12, erase-user). Its request names no user_id, so that a user's token is refused: channels that he has left are
// none that he may ask about. Like GetInbox it asks every owner and merges.
func (s *service) ListUserChannels(ctx context.Context, req *connect.Request[queryv1.ListUserChannelsRequest]) (*connect.Response[queryv1.ListUserChannelsResponse], error) {
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	defer cancel()
	m := req.Msg
	if err := checkIDs(id{"of_user_id", m.OfUserId}); err != nil {
		return nil, err
	}
	if m.PageSize > maxPageSize {
		return nil, invalid("page_size is %d, the limit is %d", m.PageSize, maxPageSize)
	}
	n, err := s.partitions()
	if err != nil {
		return nil, err
	}
	a, err := s.topics.parseAfter(m.After, n)
	if err != nil {
		return nil, err
	}
	only, err := restriction(req.Header().Get(headerPartitions), n)
	if err != nil {
		return nil, err
	}
	page := &userChannelPage{user: m.OfUserId, size: int(m.PageSize)}
	if page.size == 0 {
		page.size = defaultPageSize
	}
	if m.PageToken != "" {
		now := s.now()
		if only != nil {
			now = time.Time{} // the node that asks has judged the age, by its clock
		}
		from, err := decodePageToken(m.PageToken, userChannelScope(m.OfUserId), false, now)
		if err != nil {
			return nil, err
		}
		page.after = from.channelID
	}
	if only != nil {
		res, err := s.localUserChannels(ctx, only, a, page)
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(res), nil
	}
	own, err := s.owners(ctx, n)
	if err != nil {
		return nil, err
	}
	parts, err := gather(ctx, s, m, own, queryv1connect.QueryServiceClient.ListUserChannels, func(ctx context.Context) (*queryv1.ListUserChannelsResponse, error) {
		return s.localUserChannels(ctx, own.local, a, page)
	})
	if err != nil {
		return nil, err
	}
	res := &queryv1.ListUserChannelsResponse{}
	more := false
	for _, p := range parts {
		res.Channels = append(res.Channels, p.Channels...)
		res.AsOf = append(res.AsOf, p.AsOf...)
		more = more || p.NextPageToken != ""
	}
	page.cut(res, more, s.now())
	return connect.NewResponse(res), nil
}

// userChannelScope is what the page tokens of a user's channels are bound to. No user id has a control character.
func userChannelScope(userID string) string { return userID + "\x00channels" }

// userChannelPage cuts a page out of channels.
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
		last := sortKey{channelID: res.Channels[len(res.Channels)-1].ChannelId}
		res.NextPageToken = encodePageToken(userChannelScope(p.user), false, last, now)
	}
}

// localUserChannels reads the partitions ps, all of which must be live here.
func (s *service) localUserChannels(ctx context.Context, ps []int32, a after, page *userChannelPage) (*queryv1.ListUserChannelsResponse, error) {
	if err := s.wait(ctx, a, ps...); err != nil {
		return nil, err
	}
	res := &queryv1.ListUserChannelsResponse{}
	for _, p := range ps {
		if ctx.Err() != nil {
			return nil, unavailable("the channels could not be read in time: %v", ctx.Err())
		}
		err := s.read(p, func(part *projections.Partition) {
			// The error that UserRows returns is the partition's Err, which read looks at.
			_ = part.UserRows(page.user, func(r *projections.UserRow) bool {
				if string(r.ChannelID) > page.after {
					res.Channels = append(res.Channels, &queryv1.UserChannel{ChannelId: string(r.ChannelID), Member: r.Member, Erased: r.Erased})
				}
				return true
			})
			res.AsOf = s.topics.asOf(res.AsOf, p, part.Position())
		})
		if err != nil {
			return nil, unavailable("partition %d cannot be read here: %v", p, err)
		}
	}
	page.cut(res, false, s.now())
	return res, nil
}
