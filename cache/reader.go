package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
)

// Reader reads the Redis that a Cache fills. It needs no Kafka and is safe for concurrent use.
//
// Its answers lag behind the topics: by milliseconds, or by more under load and after a failure.
// Where Redis has no answer, Reader returns ErrMiss or an Entry that is not Known, never a zero.
type Reader struct {
	rdb redis.UniversalClient
	at  time.Time // zero: whenever it is asked
}

// NewReader reads from a Redis that a Cache fills, or a replica of it.
func NewReader(rdb redis.UniversalClient) *Reader { return &Reader{rdb: rdb} }

// At returns a Reader that judges levels as of a time, where r takes this machine's clock. Of what
// Redis holds both tell the newest.
func (r *Reader) At(t time.Time) *Reader { return &Reader{rdb: r.rdb, at: t} }

// now is the time of which an answer is, to the millisecond.
func (r *Reader) now() time.Time {
	at := r.at
	if at.IsZero() {
		at = time.Now()
	}
	return time.UnixMilli(at.UnixMilli()).UTC()
}

// Channel returns a channel's head. It returns ErrMiss if Redis is not complete or does not know
// the channel.
func (r *Reader) Channel(ctx context.Context, channel string) (*Channel, error) {
	pipe := r.rdb.Pipeline()
	hash := pipe.HGetAll(ctx, ChannelLatestKey(channel))
	epoch := pipe.Get(ctx, epochKey)
	if err := exec(ctx, pipe); err != nil {
		return nil, fmt.Errorf("channel %q: %w", channel, err)
	}
	if !complete(epoch) {
		return nil, fmt.Errorf("channel %q: %w", channel, ErrMiss)
	}
	return channelOf(channel, hash)
}

// exec runs a pipeline. A missing key is no error.
func exec(ctx context.Context, pipe redis.Pipeliner) error {
	cmds, err := pipe.Exec(ctx)
	if !errors.Is(err, redis.Nil) {
		return err
	}
	for _, c := range cmds {
		if err := c.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
	}
	return nil
}

// Complete reports whether Redis is complete: it has everything that the topics held when the
// filling began, under the key names of this build.
func (r *Reader) Complete(ctx context.Context) (bool, error) {
	epoch := r.rdb.Get(ctx, epochKey)
	if err := epoch.Err(); err != nil && !errors.Is(err, redis.Nil) {
		return false, fmt.Errorf("redis key %q: %w", epochKey, err)
	}
	return complete(epoch), nil
}

// complete reports whether epoch says that Redis is complete, under the key names of this build.
func complete(epoch *redis.StringCmd) bool { return strings.HasPrefix(epoch.Val(), keyFormat) }

func channelOf(id string, hash *redis.MapStringStringCmd) (*Channel, error) {
	if len(hash.Val()) == 0 {
		return nil, fmt.Errorf("channel %q: %w", id, ErrMiss)
	}
	return entry.ParseChannel(ChannelLatestKey(id), id, hash.Val())
}

// ReadPointer is the read pointer of a user in a channel.
type ReadPointer struct {
	MessageID string // empty if it has left the index
	Seq       uint32
	At        time.Time
}

// ReadPointer returns the read pointer of a user in a channel. It returns ErrMiss if Redis is not
// complete, or if the user has read nothing there.
func (r *Reader) ReadPointer(ctx context.Context, user, channel string) (ReadPointer, error) {
	key := ReadPointerKey(user, channel)
	pipe := r.rdb.Pipeline()
	hash := pipe.HGetAll(ctx, key)
	epoch := pipe.Get(ctx, epochKey)
	if err := exec(ctx, pipe); err != nil {
		return ReadPointer{}, fmt.Errorf("redis key %q: %w", key, err)
	}
	if !complete(epoch) || len(hash.Val()) == 0 {
		return ReadPointer{}, fmt.Errorf("redis key %q: %w", key, ErrMiss)
	}
	p := entry.Hash{Key: key, Fields: hash.Val()}
	out := ReadPointer{MessageID: p.Text("last_read_id"), At: p.Time("last_read_at")}
	out.Seq = p.Number("last_read_seq")
	return out, p.Err
}
