// Package retry waits between attempts.
package retry

import (
	"context"
	"time"
)

// Sleep waits for d. It returns false at once when ctx is done first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Backoff is a pause that doubles with each wait, from Min to Max.
type Backoff struct {
	Min, Max time.Duration

	last time.Duration // 0: no wait since Reset
}

// Wait waits for the next pause. It returns false at once when ctx is done first.
func (b *Backoff) Wait(ctx context.Context) bool {
	b.last = min(max(2*b.last, b.Min), b.Max)
	return Sleep(ctx, b.last)
}

// Reset starts with Min again.
func (b *Backoff) Reset() { b.last = 0 }
