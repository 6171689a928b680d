package query

import (
	"cmp"
	"context"
	"slices"

	"connectrpc.com/connect"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/queryv1"
)

// MarkAllRead produces one read_up_to for every channel in which the user has unread messages, up to the newest one that
// is seen now. Each states the epoch that was seen with it, so that a mark made meanwhile wins.
//
// It answers once all are acknowledged. A call that fails may have written some; calling again is harmless.
func (g *ingest) MarkAllRead(ctx context.Context, req *connect.Request[ingestv1.MarkAllReadRequest]) (*connect.Response[ingestv1.MarkAllReadResponse], error) {
	m := req.Msg
	if err := checkIDs(id{"user_id", m.UserId}); err != nil {
		return nil, err
	}
	if m.InstanceId != "" {
		if err := checkIDs(id{"instance_id", m.InstanceId}); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	defer cancel()
	var records []*kgo.Record
	now := timestamppb.New(g.now())
	err := g.queries.eachUnread(ctx, m.UserId, m.After, func(c *queryv1.ChannelUnread) error {
		value, err := proto.Marshal(&eventsv1.ReadEvent{
			ChannelId: c.ChannelId, UserId: m.UserId, InstanceId: m.InstanceId, OccurredAt: now,
			Kind: &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{
				Target: &eventsv1.ReadUpTo_Seq{Seq: c.Latest.GetSeq()}, ReadEpoch: c.ReadEpoch,
			}},
		})
		if err != nil {
			return err
		}
		records = append(records, &kgo.Record{Topic: g.topics[events.Reads], Key: []byte(c.ChannelId), Value: value})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := g.produce(ctx, records); err != nil {
		return nil, err
	}
	last := map[int32]int64{}
	for _, r := range records {
		last[r.Partition] = max(last[r.Partition], r.Offset)
	}
	res := &ingestv1.MarkAllReadResponse{Channels: uint32(len(records))}
	for p, offset := range last {
		res.After = append(res.After, g.topics.token(events.Reads, p, offset))
	}
	slices.SortFunc(res.After, cmp.Compare[string])
	return connect.NewResponse(res), nil
}

// eachUnread calls fn for every channel of the user that has unread messages, page by page: one that changes meanwhile is
// seen as it was or as it is.
func (s *service) eachUnread(ctx context.Context, userID string, after []string, fn func(*queryv1.ChannelUnread) error) error {
	for m := (&queryv1.GetInboxRequest{UserId: userID, UnreadOnly: true, PageSize: maxPageSize, After: after}); ; {
		page, err := s.GetInbox(ctx, connect.NewRequest(m))
		if err != nil {
			return err
		}
		for _, c := range page.Msg.Channels {
			if err := fn(c); err != nil {
				return err
			}
		}
		if m.PageToken = page.Msg.NextPageToken; m.PageToken == "" {
			return nil
		}
	}
}
