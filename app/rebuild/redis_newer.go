package rebuild

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
)

// Redis may have values of records that a store does not have, because the store of a partition
// that moved away stays far behind. Such values are not differences, and their stamps show it.
// Redis keeps the stamps of removed values for a day.

// beyond reports whether a stamp names records that the store does not have. Such a value is not a
// stray, because the store of a partition that moved away is far behind Redis.
func (r *redisCheck) beyond(number int32, s events.Stamp) bool {
	at := r.partitions[number]
	return s.M > at[0] || s.R > at[1] || s.D > at[2]
}

// channelBeyond reports whether the last value of a channel in Redis is newer than the store. Its
// stamp is kept for 24 hours after the channel was deleted (docs/redis.md).
func (r *redisCheck) channelBeyond(ctx context.Context, number int32, id string) (bool, error) {
	stamp, err := r.reader.ChannelStamp(ctx, id)
	return r.stampBeyond(number, stamp, err)
}

// goneBeyond reports whether records beyond the store removed an entry from Redis. The stamp of the
// removal is kept for 24 hours: `fold_version.m.r.d.last_read_seq` (docs/redis.md).
func (r *redisCheck) goneBeyond(ctx context.Context, number int32, user, field string) (bool, error) {
	stamp, err := r.c.Redis.HGet(ctx, cache.InboxGoneKey(user), field).Result()
	return r.stampBeyond(number, stamp, err)
}

// stampBeyond is beyond for a stamp in the cache's form, if there is one. It ignores a stamp that
// cannot be read.
func (r *redisCheck) stampBeyond(number int32, stamp string, err error) (bool, error) {
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("querying Redis: %w", err)
	}
	var s events.Stamp
	parts := []*int64{&s.M, &s.R, &s.D}
	for i, part := range strings.Split(stamp, ".") {
		if i == 0 || i > len(parts) { // the fold version, or a part after the offsets
			continue
		}
		n, bad := strconv.ParseInt(part, 10, 64)
		if bad != nil {
			n = 0
		}
		*parts[i-1] = n
	}
	return r.beyond(number, s), nil
}
