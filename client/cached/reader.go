package cached

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrMiss means that Redis has no answer: ask the query service. It does not mean zero.
var ErrMiss = errors.New("redis has no answer")

// The keys without a user.
const (
	epochKey   = "tidemark:epoch"
	updatedKey = "tidemark:channels-updated"
	listingKey = "tidemark:thread-listing"
)

// families are the families of keys that a cache may write.
var families = []string{"inbox", "pointers", "channels", "threads"}

// Reader reads one Redis. Any number of goroutines may use it.
type Reader struct {
	rdb redis.UniversalClient
}

// NewReader returns a reader of a Redis that a cache fills, or of a replica of it.
func NewReader(rdb redis.UniversalClient) *Reader { return &Reader{rdb} }

// View returns what Redis has of a user now. It may lack recent writes.
func (r *Reader) View(ctx context.Context, user string) (*View, error) {
	pipe := r.rdb.Pipeline()
	inbox, threads := pipe.HGetAll(ctx, "inbox:"+escape(user)), pipe.HGetAll(ctx, "inbox-threads:"+escape(user))
	updated, listing := pipe.Get(ctx, updatedKey), pipe.Get(ctx, listingKey)
	epoch := pipe.Get(ctx, epochKey) // after the hashes: if it is there, they are whole
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("client: redis: %w", err)
	}
	s, err := newSnapshot(raw{
		epoch: epoch.Val(), inbox: inbox.Val(), threads: threads.Val(),
		updated: !errors.Is(updated.Err(), redis.Nil), always: listing.Val() == "always",
	}, time.Now())
	if err != nil {
		return nil, err
	}
	records := map[string]map[string]string{}
	if len(s.asks) > 0 {
		pipe, list := r.rdb.Pipeline(), make([]*redis.MapStringStringCmd, len(s.asks))
		for i, channel := range s.asks {
			list[i] = pipe.HGetAll(ctx, "channel-latest:"+escape(channel))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, fmt.Errorf("client: redis: %w", err)
		}
		for i, channel := range s.asks {
			records[channel] = list[i].Val()
		}
	}
	return s.view(records)
}

// escape returns the form of an id in a key.
func escape(id string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A").Replace(id)
}

// familiesOf returns the families of keys that Redis has, by its epoch.
func familiesOf(epoch string) ([]string, error) {
	format, _, _ := strings.Cut(epoch, "/")
	parts := strings.SplitN(format, ":", 3)
	switch {
	case epoch == "":
		return nil, fmt.Errorf("%w: key %s is missing: Redis is not complete", ErrMiss, epochKey)
	case format == "4":
		return families, nil
	case len(parts) == 3 && parts[0] == "5" && parts[1] == "json":
		return strings.Split(parts[2], ","), nil
	case len(parts) >= 2 && parts[0] == "5" && parts[1] == "packed":
		return nil, errPacked
	}
	return nil, fmt.Errorf("%w: it has the format %q, which this reader does not know: update the reader", ErrMiss, format)
}

var errPacked = fmt.Errorf("%w: its values are packed: call tidemark_inbox (FCALL_RO), or ask the query service", ErrMiss)

// missing returns the families that Redis does not have.
func missing(there []string) []string {
	return slices.DeleteFunc(slices.Clone(families), func(f string) bool { return slices.Contains(there, f) })
}
