package query

import (
	"context"
	"errors"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/position"
)

const (
	// maxWait is how long a call waits for `after`.
	maxWait = 5 * time.Second
	// deadlineMargin is the part of the caller's deadline that is left for the answer "unavailable"
	// to arrive.
	deadlineMargin = 50 * time.Millisecond
)

// wait returns once the requirements of a for partitions ps are folded here. It waits at most
// maxWait, or until shortly before the caller's deadline.
func (s *service) wait(ctx context.Context, a position.After, ps ...int32) error {
	if len(a) == 0 {
		return nil
	}
	if ctx.Value(controllerKey{}) == nil { // streams have a limit of their own
		if !s.waits.Acquire("") {
			s.metrics.refused.WithLabelValues(refusedWaits).Inc()
			return fault.ExhaustedFor(fault.RetryAfter, errWaits)
		}
		defer s.waits.Release("")
	}
	limit := maxWait
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(min(limit, time.Until(deadline)-deadlineMargin), 0)
	}
	wctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, p := range ps {
		r, ok := a[p]
		if !ok {
			continue
		}
		for in, offset := range r {
			if offset < 0 {
				continue
			}
			err := s.node.Wait(wctx, p, events.Input(in), offset)
			switch {
			case err == nil:
			case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
				return ctx.Err()
			case wctx.Err() != nil:
				return fault.Unavailable("after: %s was not folded within %v",
					s.topics.Token(events.Input(in), p, offset), limit.Round(time.Millisecond))
			default:
				return fault.Unavailable("after: waiting for %s: %v", s.topics.Token(events.Input(in), p, offset), err)
			}
		}
	}
	return nil
}
