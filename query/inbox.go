package query

import (
	"context"
	"slices"
	"strconv"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/internal/selection"
	"github.com/tidemark/tidemark/query/internal/totals"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// GetInbox lists the channels of a user, with totals over all of them. It asks every owner for the
// first channels of its partitions, merges them, and cuts the page.
func (s *service) GetInbox(ctx context.Context, req *connect.Request[queryv1.GetInboxRequest]) (*connect.Response[queryv1.GetInboxResponse], error) {
	archived, err := selection.ParseArchived(req.Msg.Archived)
	if err != nil {
		return nil, err
	}
	m, now, err := evaluated(s, req.Msg)
	if err != nil {
		return nil, err
	}
	scope := inboxScope(m.UserId, m.Label, archived)
	if snap := snapshotScope(m.UserId); archived != selection.OnlyArchived && m.Label == "" && paging.IsOf(m.PageToken, snap) {
		scope = snap
	}
	l, err := s.listing(m, req.Header().Get(headerPartitions), fault.ID{Field: "user_id", Value: m.UserId}, scope, m.UnreadOnly)
	if err != nil {
		return nil, err
	}
	filter := selection.Filter{UnreadOnly: m.UnreadOnly, Label: m.Label, Archived: archived}
	local := func(ctx context.Context, ps []int32) (*queryv1.GetInboxResponse, error) {
		w := &sweep{
			call: "GetInbox", what: "the inbox",
			Pages: selection.Pages{User: m.UserId, Now: now, Inbox: &selection.Selection{Size: l.size, From: l.from, Filter: filter}},
		}
		res, err := s.localInbox(ctx, ps, l.after, w)
		if err == nil {
			w.Memory.Free()
		}
		return res, err
	}
	merge := func(parts []*queryv1.GetInboxResponse) *queryv1.GetInboxResponse {
		return mergeInbox(m, parts, l.size, s)
	}
	return list(ctx, s, m, l, queryv1connect.QueryServiceClient.GetInbox, local, merge)
}

// inboxScope returns the scope of an inbox's page tokens. No user id has a control character.
func inboxScope(userID, label string, archived selection.Archived) string {
	scope := userID
	if archived != selection.WithoutArchived {
		scope += "\x00archived\x00" + strconv.Itoa(int(archived))
	}
	if label != "" {
		scope += "\x00label\x00" + label
	}
	return scope
}

// snapshotScope returns the scope of the page token of a watch's snapshot. A snapshot includes
// archived channels; GetInbox lists the remaining channels of that snapshot with or without
// archived ones, for clients that do not know of those.
func snapshotScope(userID string) string { return userID + "\x00snapshot" }

// forSnapshot changes the page token of an inbox into one of a snapshot.
func (s *service) forSnapshot(userID string, in *queryv1.GetInboxResponse) {
	if in.NextPageToken != "" {
		in.NextPageToken = paging.Encode(snapshotScope(userID), false, keyOf(in.Channels[len(in.Channels)-1]), s.now())
	}
}

// localInbox reads the partitions ps, all of which must be live here.
func (s *service) localInbox(ctx context.Context, ps []int32, a position.After, w *sweep) (*queryv1.GetInboxResponse, error) {
	asOf, err := s.sweep(ctx, ps, a, w)
	if err != nil {
		return nil, err
	}
	res := &queryv1.GetInboxResponse{
		AsOf: asOf, Totals: w.Tally.All.Totals(), TotalsByLabel: w.Tally.ByLabel(), EvaluatedAt: answer.Timestamp(w.Now),
	}
	page := w.Inbox.Page()
	for _, e := range page {
		res.Channels = append(res.Channels, answer.Channel(e.Channel, w.Now))
	}
	if w.Inbox.More && len(page) > 0 {
		f := &w.Inbox.Filter
		res.NextPageToken = paging.Encode(inboxScope(w.User, f.Label, f.Archived), f.UnreadOnly, page[len(page)-1].Key, s.now())
	}
	return res, nil
}

// mergeInbox merges the pages of all owners into one. Each part's page is at least as long as its
// share of the result, so the result is the page that a single owner of everything would return.
func mergeInbox(m *queryv1.GetInboxRequest, parts []*queryv1.GetInboxResponse, size int, s *service) *queryv1.GetInboxResponse {
	res := &queryv1.GetInboxResponse{EvaluatedAt: m.EvaluatedAt}
	var all totals.Tally
	more := false
	for _, p := range parts {
		res.Channels = append(res.Channels, p.Channels...)
		res.AsOf = append(res.AsOf, p.AsOf...)
		all.AddTotals(p.Totals, p.TotalsByLabel)
		more = more || p.NextPageToken != ""
	}
	slices.SortFunc(res.Channels, func(a, b *queryv1.ChannelUnread) int { return keyOf(a).Compare(keyOf(b)) })
	if len(res.Channels) > size {
		res.Channels, more = res.Channels[:size], true
	}
	if more && len(res.Channels) > 0 {
		archived, _ := selection.ParseArchived(m.Archived) // GetInbox has validated it
		res.NextPageToken = paging.Encode(inboxScope(m.UserId, m.Label, archived), m.UnreadOnly, keyOf(res.Channels[len(res.Channels)-1]), s.now())
	}
	res.Totals, res.TotalsByLabel = all.All.Totals(), all.ByLabel()
	return res
}

// keyOf returns the position of an answered channel in the order.
func keyOf(c *queryv1.ChannelUnread) paging.Key {
	k := paging.Key{Unread: c.Unread > 0 || c.Flagged, ID: c.ChannelId}
	if c.Latest != nil {
		k.At = c.Latest.At.AsTime().UnixMilli()
	}
	return k
}
