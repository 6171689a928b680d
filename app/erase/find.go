package erase

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/query/queryv1"
)

// find lists the channels that hold anything about the user, up to the current end of the topics,
// and the threads that the user follows.
func (r *run) find(ctx context.Context) error {
	now, err := r.ends(ctx)
	if err != nil {
		return err
	}
	r.res.Before = now
	all, err := r.list(ctx, now)
	if err != nil {
		return err
	}
	missing := map[string]bool{} // of the named channels
	for _, id := range r.Channels {
		missing[id] = true
	}
	for _, c := range all {
		if len(r.Channels) > 0 && !slices.Contains(r.Channels, c.ChannelId) {
			continue
		}
		delete(missing, c.ChannelId)
		ch := Channel{ChannelID: c.ChannelId, Member: c.Member, Done: c.Erased && !c.Member}
		r.res.Channels = append(r.res.Channels, ch)
		partition := events.PartitionOf([]byte(c.ChannelId), r.inputs)
		switch {
		case ch.Done:
			r.early[partition] = true
			r.res.Already++
			continue
		case ch.Member:
			r.res.Left++
		}
		r.erased[partition] = math.MaxInt64 - 1
		r.res.Erased++
	}
	if len(missing) > 0 {
		return fmt.Errorf("channel %q: %w", slices.Sorted(maps.Keys(missing)), ErrUnknownChannel)
	}
	return r.findThreads(ctx, now)
}

// ends returns the tokens of the last records of the inputs, so that the answers are no older than
// this call.
func (r *run) ends(ctx context.Context) ([]string, error) {
	tokens, partitions, err := kafkaadmin.Newest(ctx, r.adm, r.Topics.Inputs[:]...)
	r.inputs = partitions[r.Topics.Inputs[events.Reads]]
	return tokens, err
}

func token(topic string, partition int32, offset int64) string {
	return events.RecordID{Topic: topic, Partition: partition, Offset: offset}.String()
}

// list pages through the channels that hold anything about the user, once after is folded.
func (r *run) list(ctx context.Context, after []string) (all []*queryv1.UserChannel, err error) {
	req := &queryv1.ListUserChannelsRequest{OfUserId: r.User, PageSize: 1000, After: after}
	for {
		res, err := patient(ctx, r, "channels of the user", func(ctx context.Context) (*connect.Response[queryv1.ListUserChannelsResponse], error) {
			return r.Query.ListUserChannels(ctx, connect.NewRequest(req))
		})
		if err != nil {
			return nil, err
		}
		all = append(all, res.Channels...)
		r.Report("looking for channels", len(all), 0)
		if res.NextPageToken == "" {
			return all, nil
		}
		req.PageToken, req.After = res.NextPageToken, res.AsOf
	}
}

// findThreads finds the threads that the user follows. Their pointers have keys of their own in
// Redis.
func (r *run) findThreads(ctx context.Context, after []string) error {
	seen := map[thread]bool{}
	add := func(channel, id string) {
		if len(r.Channels) == 0 || slices.Contains(r.Channels, channel) {
			seen[thread{channel, id}] = true
		}
	}
	req := &queryv1.GetThreadsRequest{UserId: r.User, PageSize: 1000, After: after}
	for {
		res, err := patient(ctx, r, "threads of the user", func(ctx context.Context) (*connect.Response[queryv1.GetThreadsResponse], error) {
			return r.Query.GetThreads(ctx, connect.NewRequest(req))
		})
		if err != nil {
			return err
		}
		for _, t := range res.Threads {
			add(t.ChannelId, t.ThreadId)
		}
		if req.PageToken = res.NextPageToken; req.PageToken == "" {
			break
		}
	}
	if r.Redis != nil { // it also has threads that are no longer listed
		if err := r.cachedThreads(ctx, add); err != nil {
			return err
		}
	}
	for t := range seen {
		r.threads = append(r.threads, t)
	}
	return nil
}

// patient repeats a call while its answer is unavailable, for example because a partition moves or
// the written events are not folded yet.
func patient[T any](ctx context.Context, r *run, what string, ask func(context.Context) (*connect.Response[T], error)) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	for {
		res, err := ask(ctx)
		if err == nil {
			return res.Msg, nil
		}
		if code := connect.CodeOf(err); code != connect.CodeUnavailable || !connect.IsWireError(err) {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: not answered within %v: %w", what, r.Patience, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
