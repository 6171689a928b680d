package query

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/queryv1"
)

const (
	// maxSnapshot bounds the channels of a snapshot; the rest is paged by its next_page_token.
	maxSnapshot = maxPageSize
	// moveTimeout bounds how long a stream waits in silence for partitions that move before it ends.
	moveTimeout = 30 * time.Second
)

var errStopping = errors.New("this node is stopping")

// emit passes one message of a stream on. It blocks while the client is behind: what changes meanwhile is coalesced in
// the Watchers.
type emit func(*queryv1.WatchUnreadResponse) error

// WatchUnread streams a snapshot of the user's inbox, then each channel that changes, in absolute values.
//
// Whatever interrupts the following of changes (a partition that moves, a node that fails) is followed by a fresh
// snapshot, never by a gap; its reading is not older than what was sent before. After moveTimeout without success the
// stream ends with unavailable.
func (s *service) WatchUnread(ctx context.Context, req *connect.Request[queryv1.WatchUnreadRequest], stream *connect.ServerStream[queryv1.WatchUnreadResponse]) error {
	m := req.Msg
	if err := checkIDs(id{"user_id", m.UserId}); err != nil {
		return err
	}
	n, err := s.partitions()
	if err != nil {
		return err
	}
	a, err := s.topics.parseAfter(m.After, n)
	if err != nil {
		return err
	}
	only, err := restriction(req.Header().Get(headerPartitions), n)
	if err != nil {
		return err
	}
	limit := s.watches
	if only != nil && s.fromNode(req.Header()) {
		limit = s.relays
	}
	release, err := limit.acquire(m.UserId)
	if err != nil {
		return err
	}
	defer release()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.stopping, func() { cancel(errStopping) })()

	out := newSender(ctx, s, stream, a)
	if only != nil {
		err = s.watchLocal(ctx, m.UserId, only, a, out.send)
	} else {
		err = s.watchAll(ctx, m.UserId, n, out)
	}
	if errors.Is(context.Cause(ctx), errStopping) {
		return unavailable("%v", errStopping)
	}
	return err
}

// watchAll follows all partitions wherever they are, in sessions: within one no partition moves.
func (s *service) watchAll(ctx context.Context, userID string, n int32, out *sender) error {
	var trouble time.Time // since when no snapshot could be sent
	for backoff := 50 * time.Millisecond; ; backoff = min(2*backoff, time.Second) {
		before := out.snapshots
		o, err := s.owners(ctx, n)
		if err == nil {
			err = s.watchSession(ctx, userID, o, out.seen, out.send)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !isUnavailable(err) || out.snapshots == 0:
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

func (s *service) watchSession(ctx context.Context, userID string, o owners, a after, e emit) error {
	if len(o.remote) == 0 {
		return s.watchLocal(ctx, userID, o.local, a, e)
	}
	return s.watchMerged(ctx, userID, o, a, e)
}

// sender writes to the client and remembers how far what it wrote had been folded.
type sender struct {
	s          *service
	stream     *connect.ServerStream[queryv1.WatchUnreadResponse]
	controller *http.ResponseController // nil behind a ResponseWriter that is none of net/http's
	seen       after
	snapshots  int
}

func newSender(ctx context.Context, s *service, stream *connect.ServerStream[queryv1.WatchUnreadResponse], a after) *sender {
	c, _ := ctx.Value(controllerKey{}).(*http.ResponseController)
	if c != nil {
		// The request has been read. Over HTTP/1.1 its deadline, passing, would cancel the stream.
		_ = c.SetReadDeadline(time.Time{})
	}
	if a == nil {
		a = after{}
	}
	return &sender{s: s, stream: stream, controller: c, seen: a}
}

// send writes m. A message without an event is a heartbeat and says again what is known.
func (o *sender) send(m *queryv1.WatchUnreadResponse) error {
	if m.Event == nil {
		m.AsOf = o.s.topics.tokens(o.seen)
	} else {
		o.s.topics.merge(o.seen, m.AsOf)
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

// merge raises what a requires to tokens, which come from this service.
func (t *topicNames) merge(a after, tokens []string) {
	for _, tok := range tokens {
		topic, p, offset, ok := splitToken(tok)
		in, known := t.input(topic)
		if !ok || !known {
			continue
		}
		r, ok := a[p]
		if !ok {
			r = requirement{-1, -1, -1}
		}
		r[in] = max(r[in], offset)
		a[p] = r
	}
}

// tokens lists what a requires, by partition and input.
func (t *topicNames) tokens(a after) []string {
	ps := make([]int32, 0, len(a))
	for p := range a {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	var out []string
	for _, p := range ps {
		for in, offset := range a[p] {
			if offset >= 0 {
				out = append(out, t.token(events.Input(in), p, offset))
			}
		}
	}
	return out
}
