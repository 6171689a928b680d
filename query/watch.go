package query

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/owners"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/queryv1"
)

const (
	// maxSnapshot limits the channels of a snapshot; its next_page_token leads to the rest.
	maxSnapshot = paging.MaxSize
	// moveTimeout is how long a stream waits silently for moving partitions before it ends.
	moveTimeout = 30 * time.Second
)

var errStopping = errors.New("this node is stopping")

// emit passes on one message of a stream. It blocks while the client is behind; the Watchers
// coalesce changes meanwhile.
type emit func(*queryv1.WatchUnreadResponse) error

// WatchUnread streams a snapshot of the user's inbox, then each channel that changes, in absolute
// values.
//
// After any interruption (a partition that moves, a node that fails) it sends a fresh snapshot,
// never a gap; that snapshot is not older than anything sent before. After moveTimeout without
// success the stream ends with unavailable.
func (s *service) WatchUnread(ctx context.Context, req *connect.Request[queryv1.WatchUnreadRequest], stream *connect.ServerStream[queryv1.WatchUnreadResponse]) error {
	m := req.Msg
	if err := fault.CheckIDs(fault.ID{Field: "user_id", Value: m.UserId}); err != nil {
		return err
	}
	n, err := s.partitions()
	if err != nil {
		return err
	}
	a, err := s.topics.ParseAfter(m.After, n)
	if err != nil {
		return err
	}
	if _, err := s.at(m.EvaluatedAt); err != nil {
		return err
	}
	only, err := position.ParsePartitions(headerPartitions, req.Header().Get(headerPartitions), n)
	if err != nil {
		return err
	}
	limit := s.watches
	if auth.FromPeer(ctx) {
		limit = s.relays
	}
	release, err := limit.Acquire(m.UserId)
	if err != nil {
		return err
	}
	defer release()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.stopping, func() { cancel(errStopping) })()

	out := newSender(ctx, s, stream, a)
	if only != nil {
		now, _ := s.at(m.EvaluatedAt)
		err = s.watchLocal(ctx, m.UserId, owners.Shares{Local: only}, a, now, out.send)
	} else {
		err = s.watchAll(ctx, m, n, out)
	}
	if errors.Is(context.Cause(ctx), errStopping) {
		return fault.Unavailable("%v", errStopping)
	}
	return err
}

// watchAll follows all partitions, on any node, in sessions. Within a session no partition moves.
func (s *service) watchAll(ctx context.Context, m *queryv1.WatchUnreadRequest, n int32, out *sender) error {
	var trouble time.Time // since when no snapshot could be sent
	for backoff := 50 * time.Millisecond; ; backoff = min(2*backoff, time.Second) {
		before := out.snapshots
		o, err := s.owners.Shares(ctx, n, owners.User(m.UserId, out.seen))
		if err == nil {
			now, _ := s.at(m.EvaluatedAt)
			if out.snapshots > 0 {
				now = s.now().UnixMilli() // the requested time applies to the first snapshot only
			}
			err = s.watchSession(ctx, m.UserId, o, out.seen, now, out.send)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !fault.IsUnavailable(err) || out.snapshots == 0:
			return err
		}
		if out.snapshots > before {
			backoff, trouble = 50*time.Millisecond, time.Time{}
		}
		if trouble.IsZero() {
			trouble = time.Now()
		}
		if time.Since(trouble) > moveTimeout {
			return err
		}
		select {
		case <-time.After(backoff/2 + rand.N(backoff)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *service) watchSession(ctx context.Context, userID string, o owners.Shares, a position.After, now int64, e emit) error {
	if len(o.Remote) == 0 {
		return s.watchLocal(ctx, userID, o, a, now, e)
	}
	return s.watchMerged(ctx, userID, o, a, now, e)
}

// sender writes to the client, and keeps the position of what it wrote.
type sender struct {
	s          *service
	stream     *connect.ServerStream[queryv1.WatchUnreadResponse]
	controller *http.ResponseController // nil for a ResponseWriter that is not net/http's
	seen       position.After
	snapshots  int
}

func newSender(ctx context.Context, s *service, stream *connect.ServerStream[queryv1.WatchUnreadResponse], a position.After) *sender {
	c, _ := ctx.Value(controllerKey{}).(*http.ResponseController)
	if decoded, ok := ctx.Value(decodedKey{}).(func()); ok {
		decoded()
	}
	if c != nil {
		// The request has been read. Over HTTP/1.1 a read deadline that passes would cancel the
		// stream.
		_ = c.SetReadDeadline(time.Time{})
		_ = c.SetWriteDeadline(time.Time{}) // each message has its own
	}
	if a == nil {
		a = position.After{}
	}
	return &sender{s: s, stream: stream, controller: c, seen: a}
}

// send writes m. A message without an event is a heartbeat; it repeats the position.
func (o *sender) send(m *queryv1.WatchUnreadResponse) error {
	if m.Event == nil {
		m.AsOf = o.s.topics.Tokens(o.seen)
	} else {
		o.s.topics.Merge(o.seen, m.AsOf)
	}
	if o.controller != nil {
		_ = o.controller.SetWriteDeadline(time.Now().Add(o.s.sendTimeout))
	}
	if err := o.stream.Send(m); err != nil {
		return err
	}
	if m.GetSnapshot() != nil {
		o.snapshots++
	}
	return nil
}
