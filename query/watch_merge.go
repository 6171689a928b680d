package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/owners"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/internal/totals"
	"github.com/tidemark/tidemark/query/queryv1"
)

var errNoSnapshot = errors.New("an owner's stream began without a snapshot")

// sourced is a message of one of the merged streams.
type sourced struct {
	source int
	msg    *queryv1.WatchUnreadResponse
	err    error // the source has ended
}

// watchMerged merges the local partitions and one stream from every other owner into one. It ends
// when any of them ends.
func (s *service) watchMerged(ctx context.Context, userID string, o owners.Shares, a position.After, now int64, e emit) error {
	ctx, cancel := context.WithCancelCause(ctx)
	in := make(chan sourced)
	started := make(chan struct{})
	var running int
	run := func(follow func(emit) error) {
		i := running
		running++
		var snapshot bool
		guard.Go("a source of a watch", func(e *guard.Error) { in <- sourced{source: i, err: e} }, func() {
			err := follow(func(m *queryv1.WatchUnreadResponse) error {
				if snapshot {
					// Updates wait until all sources have sent their snapshot.
					select {
					case <-started:
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				snapshot = true
				select {
				case in <- sourced{source: i, msg: m}:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
			in <- sourced{source: i, err: err}
		})
	}
	// No source outlives the session: its watchers and its stream end with it.
	defer func() {
		cancel(nil)
		for running > 0 {
			if (<-in).err != nil {
				running--
			}
		}
	}()
	tokens := s.topics.Tokens(a)
	for _, r := range o.Remote {
		run(func(e emit) error { return s.watchRemote(ctx, userID, r, tokens, now, e) })
	}
	if len(o.Local)+len(o.Out) > 0 {
		own := position.After{}
		for _, p := range o.Local {
			if r, ok := a[p]; ok {
				own[p] = r
			}
		}
		run(func(e emit) error { return s.watchLocal(ctx, userID, o, own, now, e) })
	}

	latest := totals.NewSources(running)
	receive := func(until <-chan time.Time) (sourced, error) {
		select {
		case m := <-in:
			if m.err != nil {
				running--
			}
			return m, m.err
		case <-until:
			return sourced{source: -1}, nil
		case <-ctx.Done():
			return sourced{}, context.Cause(ctx)
		}
	}

	parts := make([]*queryv1.GetInboxResponse, 0, running)
	var threads []*queryv1.ThreadUnread
	patience := time.NewTimer(maxCall)
	defer patience.Stop()
	for want := running; len(parts) < want; {
		m, err := receive(patience.C)
		switch {
		case err != nil:
			return err
		case m.source < 0:
			return fault.Unavailable("%d of %d owners gave no snapshot within %v", want-len(parts), want, maxCall)
		case m.msg.GetSnapshot() == nil:
			return connect.NewError(connect.CodeInternal, errNoSnapshot)
		}
		snap := m.msg.GetSnapshot()
		latest.Snapshot(m.source, snap)
		threads = append(threads, snap.Threads...)
		parts = append(parts, &queryv1.GetInboxResponse{
			Channels: snap.Channels, Totals: snap.Totals, NextPageToken: snap.NextPageToken,
			TotalsByLabel: snap.TotalsByLabel, AsOf: m.msg.AsOf,
		})
	}
	whole := mergeInbox(&queryv1.GetInboxRequest{UserId: userID, EvaluatedAt: answer.Timestamp(now)}, parts, maxSnapshot, s)
	s.forSnapshot(userID, whole)
	err := e(&queryv1.WatchUnreadResponse{
		Event: &queryv1.WatchUnreadResponse_Snapshot{Snapshot: &queryv1.WatchSnapshot{
			Channels: whole.Channels, Totals: whole.Totals, NextPageToken: whole.NextPageToken, Threads: firstThreads(threads),
			TotalsByLabel: whole.TotalsByLabel,
		}},
		AsOf: whole.AsOf, EvaluatedAt: whole.EvaluatedAt,
	})
	if err != nil {
		return err
	}
	close(started)

	heartbeat := time.NewTimer(s.heartbeat)
	defer heartbeat.Stop()
	for {
		m, err := receive(heartbeat.C)
		if err != nil {
			return err
		}
		var out *queryv1.WatchUnreadResponse
		switch u := m.msg.GetUpdate(); {
		case m.source < 0:
			out = &queryv1.WatchUnreadResponse{}
		case u == nil:
			continue // a source's heartbeat
		default:
			all, byLabel := latest.Update(m.source, u)
			out = &queryv1.WatchUnreadResponse{
				Event: &queryv1.WatchUnreadResponse_Update{Update: &queryv1.WatchUpdate{
					Channel: u.Channel, Thread: u.Thread, Totals: all, TotalsByLabel: byLabel,
				}},
				AsOf: m.msg.AsOf, EvaluatedAt: m.msg.EvaluatedAt,
			}
		}
		if err := e(out); err != nil {
			return err
		}
		heartbeat.Reset(s.heartbeat)
	}
}

// watchRemote passes on the stream of another owner about r's partitions. An owner that is silent
// for three heartbeats counts as gone.
func (s *service) watchRemote(ctx context.Context, userID string, r owners.Remote, tokens []string, now int64, e emit) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := s.peers.Client(ctx, r.URL)
	if err != nil {
		return fault.UnavailableFor(err, "%s: %v", position.Some(r.Partitions), err)
	}
	req := connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: userID, After: tokens, EvaluatedAt: answer.Timestamp(now)})
	req.Header().Set(headerPartitions, position.JoinPartitions(r.Partitions))
	s.metrics.forwarded.Inc()

	silence := time.AfterFunc(maxCall+3*s.heartbeat, cancel)
	defer silence.Stop()
	stream, err := client.WatchUnread(ctx, req)
	if err != nil {
		return s.peers.Failed(ctx, r.URL, position.Some(r.Partitions), err)
	}
	defer func() { _ = stream.Close() }() // it has ended, or ctx ends it
	for stream.Receive() {
		s.peers.Answered(r.URL)
		silence.Stop() // the time for which our own slow client blocks does not count
		if err := e(stream.Msg()); err != nil {
			return err
		}
		silence.Reset(3 * s.heartbeat)
	}
	if err := stream.Err(); err != nil {
		return s.peers.Failed(ctx, r.URL, position.Some(r.Partitions), err)
	}
	return fault.UnavailableFor(fmt.Errorf("%s ended it", r.URL), "the owner ended the watch of %s", position.Some(r.Partitions))
}
