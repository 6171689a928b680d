package steps

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// progress publishes a partition's position, and holds the callers that wait for a later one.
type progress struct {
	position [events.NumInputs]atomic.Int64
	Waiting  atomic.Int32

	mu     sync.Mutex
	ended  error // set when the position will not advance here any more
	waiter map[*waiter]struct{}
}

type waiter struct {
	in     events.Input
	offset int64
	done   chan struct{}
	err    error
}

// advance publishes a position and releases the callers that waited for it. It costs almost nothing
// if none wait.
func (p *progress) advance(position projections.Position) {
	for i := range position {
		p.position[i].Store(position[i])
	}
	// A new waiter first counts itself and then checks the position. So either this load sees the
	// waiter, or the waiter sees the position.
	if p.Waiting.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.waiter {
		if position[w.in] > w.offset {
			p.release(w, nil)
		}
	}
}

func (p *progress) release(w *waiter, err error) {
	delete(p.waiter, w)
	p.Waiting.Add(-1)
	w.err = err
	close(w.done)
}

// end releases all callers with err, now and from now on.
func (p *progress) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = err
	for w := range p.waiter {
		p.release(w, err)
	}
}

func (p *progress) At() projections.Position {
	var position projections.Position
	for i := range position {
		position[i] = p.position[i].Load()
	}
	return position
}

// Wait returns when the record at offset is folded.
func (p *progress) Wait(ctx context.Context, in events.Input, offset int64) error {
	if p.position[in].Load() > offset {
		return nil
	}
	w := &waiter{in: in, offset: offset, done: make(chan struct{})}
	p.mu.Lock()
	if p.ended != nil {
		p.mu.Unlock()
		return p.ended
	}
	if p.waiter == nil {
		p.waiter = map[*waiter]struct{}{}
	}
	p.waiter[w] = struct{}{}
	p.Waiting.Add(1)
	if p.position[in].Load() > offset {
		p.release(w, nil)
	}
	p.mu.Unlock()

	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, still := p.waiter[w]; !still {
		return w.err
	}
	p.release(w, nil)
	return context.Cause(ctx)
}
