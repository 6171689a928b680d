package ingest

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
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/internal/fault"
)

// MarkAllRead writes one read_up_to for every channel in which the user has unread messages or a
// flag, up to its newest message at this moment; with a label in the request, only for channels
// with that label. Each event states the current epoch, so that a concurrent mark wins. With
// threads, the events also read the channel's threads, including in channels where only threads are
// unread.
//
// It answers once all events are acknowledged. A call that fails may have written some; repeating
// it is harmless.
func (g *Service) MarkAllRead(ctx context.Context, req *connect.Request[ingestv1.MarkAllReadRequest]) (*connect.Response[ingestv1.MarkAllReadResponse], error) {
	m := req.Msg
	if err := fault.CheckIDs(fault.ID{Field: "user_id", Value: m.UserId}); err != nil {
		return nil, err
	}
	if m.InstanceId != "" {
		if err := fault.CheckIDs(fault.ID{Field: "instance_id", Value: m.InstanceId}); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, g.cfg.Timeout)
	defer cancel()
	if caller, known := auth.IdentityOf(ctx); known {
		// A caller who may publish for a user may have no right to read about others, so calls to
		// other nodes are made in the name of that user.
		ctx = auth.WithIdentity(ctx, auth.Identity{Subject: m.UserId, Expires: caller.Expires})
	}
	var records []*kgo.Record
	now := timestamppb.New(g.cfg.Now())
	err := g.eachToRead(ctx, m, func(c toRead) error {
		e := &eventsv1.ReadEvent{ChannelId: c.ChannelId, UserId: m.UserId, InstanceId: m.InstanceId, OccurredAt: now}
		if c.seq > 0 {
			e.Kind = &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{
				Target: &eventsv1.ReadUpTo_Seq{Seq: c.seq}, ReadEpoch: c.ReadEpoch, WithThreads: m.Threads,
			}}
		} else {
			e.Kind = &eventsv1.ReadEvent_FlagSet{FlagSet: &eventsv1.FlagSet{}}
		}
		events.StateVersion(e)
		value, err := proto.Marshal(e)
		if err != nil {
			return err
		}
		records = append(records, &kgo.Record{Topic: g.cfg.Topics[events.Reads], Key: []byte(c.ChannelId), Value: value})
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
		res.After = append(res.After, g.cfg.Topics.Token(events.Reads, p, offset))
	}
	slices.SortFunc(res.After, cmp.Compare[string])
	return connect.NewResponse(res), nil
}
