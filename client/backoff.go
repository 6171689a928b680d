package client

import (
	"math/rand/v2"
	"time"
)

// backoff returns how long to wait before the next attempt. Its bound doubles from least to most. A
// wait is drawn from the upper half of the bound, so that clients do not all return at the same
// moment.
type backoff struct {
	least, most time.Duration
	random      func() float64 // nil: math/rand
	tries       int
}

// next returns a wait whose bound is at least bound, but not above most.
func (b *backoff) next(bound time.Duration) time.Duration {
	random := b.random
	if random == nil {
		random = rand.Float64
	}
	bound = min(b.most, max(bound, b.least<<min(b.tries, 30)))
	b.tries++
	return bound/2 + time.Duration(float64(bound/2)*random())
}

// reset starts from least again, after a good connection.
func (b *backoff) reset() { b.tries = 0 }
