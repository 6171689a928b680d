package client

import (
	"math/rand/v2"
	"time"
)

// backoff says how long to wait before the next try: the bound doubles from least to most, and a
// wait is in its upper half, so that not all clients come back at the same moment.
type backoff struct {
	least, most time.Duration
	random      func() float64 // nil: math/rand
	tries       int
}

// next returns a wait with a bound of at least bound, as far as most allows.
func (b *backoff) next(bound time.Duration) time.Duration {
	random := b.random
	if random == nil {
		random = rand.Float64
	}
	bound = min(b.most, max(bound, b.least<<min(b.tries, 30)))
	b.tries++
	return bound/2 + time.Duration(float64(bound/2)*random())
}

// reset begins anew: a connection has proved good.
func (b *backoff) reset() { b.tries = 0 }
