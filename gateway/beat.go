package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// beat notices that Redis has lost what was written to it: it was wiped, restarted without its data, or a copy of it took
// over that is older. A gateway keeps a number in Redis that it alone writes and that only grows. One that is missing, or
// less than what was acknowledged, was lost, and with it keys of users who are connected, here and at other gateways.
//
// Each gateway looks at its own number every beatEvery, and says all of its users again when it was lost. Until the others
// have done so as well, which is within settleAfter, nobody may be taken to be absent. Whoever asks Redis for users asks for
// the number in the same command: it is written again only once the loss is noted, so that no answer from between the loss
// and the noting is believed.
type beat struct {
	key   string
	every time.Duration
	now   func() time.Time
	began time.Time

	acked     atomic.Int64 // the last number that Redis has acknowledged; 0: none
	unsettled atomic.Int64 // until so long after began, in nanoseconds, nobody may be taken to be absent
}

// maxBeatEvery bounds how long a loss is not noticed.
const maxBeatEvery = time.Second

// errForgotten is why nobody can be said to be absent.
var errForgotten = errors.New("what was written to Redis is lost there: until all gateways have said again who is connected, nobody is taken to be absent")

func newBeat(gateway string, ttl time.Duration, now func() time.Time) *beat {
	// No user has a control character in his id, and whoever may write the keys of users may write this one.
	return &beat{key: presencePrefix + "\x00" + gateway, every: min(maxBeatEvery, ttl/3), now: now, began: now()}
}

// settleAfter is how long after a loss was noticed all gateways have said again who is connected.
func (b *beat) settleAfter() time.Duration { return 3 * b.every }

// next looks at the number and writes the next one. It reports whether Redis has lost what it was told.
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

// isBefore judges a value that Redis gave for the key, empty if it gave none, by what was acknowledged before it was asked
// for. A later one was written meanwhile, or its writing was never answered.
func isBefore(value string, acked int64) bool {
	n, err := strconv.ParseInt(value, 10, 64)
	return acked > 0 && (err != nil || n < acked)
}

// lose notes that Redis has lost what it was told.
func (b *beat) lose() { b.unsettled.Store(int64(b.now().Sub(b.began) + b.settleAfter())) }

// settled returns errForgotten until all gateways have said again who is connected.
func (b *beat) settled() error {
	if left := time.Duration(b.unsettled.Load()) - b.now().Sub(b.began); left > 0 {
		return fmt.Errorf("%w, which takes %v more", errForgotten, left.Round(time.Millisecond))
	}
	return nil
}
