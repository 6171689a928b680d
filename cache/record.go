package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
)

// record is Redis' answer with a channel's record: its hash (for a small channel only the fields
// that do not count), or its packed value.
type record struct {
	whole  *redis.MapStringStringCmd
	some   *redis.SliceCmd
	packed *redis.StringCmd
}

// askRecord requests a channel's record; whole: with the fields from which counts are derived.
func askRecord(ctx context.Context, pipe redis.Pipeliner, channel string, whole bool, f Format) record {
	key := ChannelLatestKey(channel)
	switch {
	case f.Packed:
		return record{packed: pipe.Get(ctx, key)}
	case whole:
		return record{whole: pipe.HGetAll(ctx, key)}
	}
	return record{some: pipe.HMGet(ctx, key, entry.OfSmall...)}
}

// channel returns the record of a channel, nil if there is none.
func (r record) channel(id string) (*Channel, error) {
	key := ChannelLatestKey(id)
	switch {
	case r.some != nil:
		return entry.ParseSome(key, id, r.some.Val())
	case r.whole != nil:
		if len(r.whole.Val()) == 0 {
			return nil, nil
		}
		return entry.ParseChannel(key, id, r.whole.Val())
	case errors.Is(r.packed.Err(), redis.Nil):
		return nil, nil
	}
	return entry.ParsePackedChannel(key, id, r.packed.Val())
}

// missing returns the miss of a key, whose family may be left out.
func missing(key string, left bool, f Format) error {
	if left {
		return fmt.Errorf("redis key %q: %w: %w", key, ErrMiss, leftOut(f))
	}
	return fmt.Errorf("redis key %q: %w", key, ErrMiss)
}

// leftOut returns an error that names the families of keys that Redis is filled without.
func leftOut(f Format) error {
	return fmt.Errorf("the cache leaves out %s (--redis-keys %s)", strings.Join(f.Without(), ", "), f.Keys())
}
