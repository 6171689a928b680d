package limit

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// Bytes bounds the memory of all requests together.
type Bytes struct {
	total int64
	wait  time.Duration
	sem   *semaphore.Weighted
}

// NewBytes divides total bytes among callers. A caller for which too few are left waits, in order
// of arrival, for a limited time.
func NewBytes(total int64, wait time.Duration) *Bytes {
	return &Bytes{total: total, wait: wait, sem: semaphore.NewWeighted(total)}
}

// Acquire takes n bytes, at most the total, and release returns them; one goroutine may call
// release more than once. Acquire reports false if the bytes did not become free in time.
func (b *Bytes) Acquire(ctx context.Context, n int64) (release func(), ok bool) {
	n = min(n, b.total)
	if !b.sem.TryAcquire(n) {
		ctx, cancel := context.WithTimeout(ctx, b.wait)
		defer cancel()
		if b.sem.Acquire(ctx, n) != nil {
			return nil, false
		}
	}
	return func() {
		if n > 0 {
			b.sem.Release(n)
			n = 0
		}
	}, true
}
