package erase

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/queryv1"
)

// find lists the channels in which anything is known of the user, by all that is in the topics now, and his threads.
func (r *run) find(ctx context.Context) error {
	now, err := r.ends(ctx)
	if err != nil {
		return err
	}
	all, err := r.list(ctx, now)
	if err != nil {
		return err
	}
	missing := map[string]bool{} // of those that are named
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

// ends are the tokens of the last records of the inputs: what is found is then no older than this call.
func (r *run) ends(ctx context.Context) ([]string, error) {
	starts, err := r.adm.ListStartOffsets(ctx, r.Topics.Inputs[:]...)
	if err != nil {
		return nil, fmt.Errorf("where the topics begin: %w", err)
	}
	ends, err := r.adm.ListCommittedOffsets(ctx, r.Topics.Inputs[:]...)
	if err != nil {
		return nil, fmt.Errorf("where the topics end: %w", err)
	}
	var tokens []string
	r.inputs = int32(len(ends[r.Topics.Inputs[events.Reads]]))
	for _, topic := range r.Topics.Inputs {
		for p, end := range ends[topic] {
			start, ok := starts.Lookup(topic, p)
			err := errors.Join(end.Err, start.Err)
			if !ok {
				err = errors.New("its beginning is not in the answer")
			}
			if err != nil {
				return nil, fmt.Errorf("the brokers do not say where %s/%d begins and ends: %w", topic, p, err)
			}
			if end.Offset > start.Offset {
				tokens = append(tokens, token(topic, p, end.Offset-1))
			}
		}
	}
	return tokens, nil
}

func token(topic string, partition int32, offset int64) string {
	return fmt.Sprintf("%s/%d/%d", topic, partition, offset)
}

// list pages through the channels that know of the user, once after is folded.
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

// findThreads finds the threads that he follows, whose pointers have keys of their own in Redis.
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
	if r.Redis != nil { // has also those that are no longer listed
		if err := r.cachedThreads(ctx, add); err != nil {
			return err
		}
	}
	for t := range seen {
		r.threads = append(r.threads, t)
	}
	return nil
}

// patient asks until the answer is no longer that it is unavailable, as it is while a partition moves or what was written
// is not folded yet.
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
