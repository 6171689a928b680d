package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxKeys bounds how many keys a Rates remembers.
const maxKeys = 100_000

// Rates is a token bucket for each key.
//
// Rates remembers two generations of keys. A requested key moves to the younger one. When that is
// full, the older one is forgotten and the younger takes its place. So a flood of new keys costs no
// search, and a key in use keeps its bucket. A forgotten key gets its whole burst again.
type Rates struct {
	perSecond rate.Limit
	burst     int
	now       func() time.Time

	mu           sync.Mutex
	young, elder map[string]*rate.Limiter
}

// NewRates allows each key this many a second, and this many at once. With a rate of 0 or less
// there is no limit. now is the clock, nil for time.Now.
func NewRates(perSecond float64, burst int, now func() time.Time) *Rates {
	if now == nil {
		now = time.Now
	}
	return &Rates{perSecond: rate.Limit(perSecond), burst: max(burst, 1), now: now, young: map[string]*rate.Limiter{}}
}

// Allow takes one token of a key's bucket. If there is none, wait is how long to wait for one.
func (r *Rates) Allow(key string) (wait time.Duration, ok bool) {
	if r.perSecond <= 0 {
		return 0, true
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.bucket(key)
	if b.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - b.TokensAt(now)
	return time.Duration(missing / float64(r.perSecond) * float64(time.Second)), false
}

// Take is Allow for callers that close the connection if there is no token, and need no waiting
// time.
func (r *Rates) Take(key string) bool {
	_, ok := r.Allow(key)
	return ok
}

// bucket finds or makes the bucket of a key. r.mu is held.
func (r *Rates) bucket(key string) *rate.Limiter {
	b := r.young[key]
	if b != nil {
		return b
	}
	if b = r.elder[key]; b == nil {
		b = rate.NewLimiter(r.perSecond, r.burst)
	} else {
		delete(r.elder, key)
	}
	if len(r.young) >= maxKeys/2 {
		r.elder, r.young = r.young, map[string]*rate.Limiter{}
	}
	r.young[key] = b
	return b
}
