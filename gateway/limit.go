package gateway

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxLimiters bounds how many keys are remembered. When it is reached, those that are at rest are forgotten, and if there
// are none, all: a flood of new keys then gets its burst anew, which the number of connections still bounds.
const maxLimiters = 50_000

// limiters is a token bucket for each key.
type limiters struct {
	perSecond rate.Limit
	burst     int
	now       func() time.Time

	mu  sync.Mutex
	all map[string]*rate.Limiter
}

func newLimiters(perSecond float64, burst int, now func() time.Time) *limiters {
	return &limiters{perSecond: rate.Limit(perSecond), burst: burst, now: now, all: map[string]*rate.Limiter{}}
}

// allow takes one token of a key's bucket, if there is one.
func (l *limiters) allow(key string) bool {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.all[key]
	if b == nil {
		if len(l.all) >= maxLimiters {
			l.forget(now)
		}
		b = rate.NewLimiter(l.perSecond, l.burst)
		l.all[key] = b
	}
	return b.AllowN(now, 1)
}

func (l *limiters) forget(now time.Time) {
	for key, b := range l.all {
		if b.TokensAt(now) >= float64(l.burst) {
			delete(l.all, key)
		}
	}
	if len(l.all) >= maxLimiters {
		clear(l.all)
	}
}
