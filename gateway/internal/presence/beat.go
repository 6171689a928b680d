package presence

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
)

// beat detects that Redis has lost data that gateways wrote to it: because it was wiped, restarted
// without its data, or replaced by an older copy. Each gateway keeps a number in Redis that only it
// writes and that only grows. If the number is missing, or smaller than the last one that Redis
// acknowledged, Redis has lost it, and with it presence keys of this gateway and of others.
//
// Each gateway checks its number every b.every, and sets the keys of all its users again after a
// loss. The other gateways do the same within settleAfter; until then no user counts as absent. A
// lookup of users reads the number in the same command. The number is written again only after the
// loss was recorded, so no answer from in between is used.
type beat struct {
	key   string
	every time.Duration
	now   func() time.Time
	began time.Time

	acked     atomic.Int64 // the last number that Redis acknowledged; 0: none
	unsettled atomic.Int64 // nanoseconds after began until which no user counts as absent
}

// maxBeatEvery limits how long a loss goes unnoticed.
const maxBeatEvery = time.Second

// errForgotten is the reason why no user counts as absent.
var errForgotten = errors.New("data in Redis was lost: nobody counts as absent until all gateways have written their connected users again")

func newBeat(gateway string, ttl time.Duration, now func() time.Time) *beat {
	// No user id has a control character, and Redis users who may write the keys of users may write
	// this one.
	return &beat{key: cache.PresenceKey("\x00" + gateway), every: min(maxBeatEvery, ttl/3), now: now, began: now()}
}

// settleAfter is how long after a loss was detected all gateways have set their keys again.
func (b *beat) settleAfter() time.Duration { return 3 * b.every }

// next reads the number and writes the next one. It reports whether Redis has lost data.
func (b *beat) next(ctx context.Context, rdb redis.UniversalClient, ttl time.Duration) (lost bool, err error) {
	value, err := rdb.Get(ctx, b.key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	if isBefore(value, b.acked.Load()) {
		b.lose()
		lost = true
	}
	n := b.acked.Load() + 1
	if err := rdb.Set(ctx, b.key, n, ttl).Err(); err != nil {
		return lost, err
	}
	b.acked.Store(n)
	return lost, nil
}

// isBefore reports whether value, as returned by Redis ("" if missing), is older than acked, the
// number that Redis had acknowledged before the request. A larger value was written meanwhile, or
// its write was never answered.
func isBefore(value string, acked int64) bool {
	n, err := strconv.ParseInt(value, 10, 64)
	return acked > 0 && (err != nil || n < acked)
}

// lose records that Redis has lost data.
func (b *beat) lose() { b.unsettled.Store(int64(b.now().Sub(b.began) + b.settleAfter())) }

// settled returns errForgotten until all gateways have set their keys again.
func (b *beat) settled() error {
	if left := time.Duration(b.unsettled.Load()) - b.now().Sub(b.began); left > 0 {
		return fmt.Errorf("%w, which takes %v more", errForgotten, left.Round(time.Millisecond))
	}
	return nil
}
