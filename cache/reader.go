package cache

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/cache/internal/format"
)

// Reader reads the Redis that a Cache fills. It needs no Kafka and is safe for concurrent use.
//
// Its answers lag behind the topics: by milliseconds, or by more under load and after a failure. If
// Redis has no answer, Reader returns ErrMiss or an Entry that is not Known, never a zero.
type Reader struct {
	rdb  redis.UniversalClient
	at   time.Time                      // zero: the time of each call
	seen *atomic.Pointer[format.Format] // the format that Redis had in the last call
}

// Format describes how Redis is filled: --redis-values and --redis-keys.
type Format = format.Format

// NewReader reads from a Redis that a Cache fills, or a replica of it.
func NewReader(rdb redis.UniversalClient) *Reader {
	return &Reader{rdb: rdb, seen: new(atomic.Pointer[Format])}
}

// At returns a Reader that evaluates levels as of a time; r uses this machine's clock. Both read
// the newest values in Redis.
func (r *Reader) At(t time.Time) *Reader { return &Reader{rdb: r.rdb, at: t, seen: r.seen} }

// now returns the time of an answer, to the millisecond.
func (r *Reader) now() time.Time {
	at := r.at
	if at.IsZero() {
		at = time.Now()
	}
	return time.UnixMilli(at.UnixMilli()).UTC()
}

// Channel returns a channel's head. It returns ErrMiss if Redis is not complete, does not have the
// channel, or is filled without channels.
func (r *Reader) Channel(ctx context.Context, channel string) (*Channel, error) {
	var a record
	f, ok, err := r.trip(ctx, func(pipe redis.Pipeliner, f Format) { a = askRecord(ctx, pipe, channel, true, f) })
	switch {
	case err != nil:
		return nil, fmt.Errorf("channel %q: %w", channel, err)
	case !ok:
		return nil, fmt.Errorf("channel %q: %w", channel, ErrMiss)
	case f.NoChannels:
		return nil, fmt.Errorf("channel %q: %w: %w", channel, ErrMiss, leftOut(f))
	}
	c, err := a.channel(channel)
	if err == nil && c == nil {
		err = fmt.Errorf("channel %q: %w", channel, ErrMiss)
	}
	return c, err
}

// ChannelStamp returns the stamp of a channel's newest value in Redis, `fold_version.m`; redis.Nil
// if it has none. Redis keeps the stamp of a deleted channel for 24 hours.
func (r *Reader) ChannelStamp(ctx context.Context, channel string) (string, error) {
	answers, err := r.rdb.MGet(ctx, ChannelLatestKey(channel), ChannelStampKey(channel)).Result()
	if err != nil {
		return "", fmt.Errorf("redis key %q: %w", ChannelStampKey(channel), err)
	}
	stamp, ok := parseChannelStamp(answers)
	if !ok {
		return "", redis.Nil
	}
	return fmt.Sprintf("%d.%d", stamp.FoldVersion, stamp.M), nil
}

// trip runs a pipeline that depends on the format of Redis. The pipeline ends with the epoch: if
// its format differs from the last one, trip repeats everything once. ok is false if Redis is not
// complete.
func (r *Reader) trip(ctx context.Context, ask func(pipe redis.Pipeliner, f Format)) (f Format, ok bool, err error) {
	for range 3 {
		var guess Format
		if seen := r.seen.Load(); seen != nil {
			guess = *seen
		}
		pipe := r.rdb.Pipeline()
		ask(pipe, guess)
		epoch := pipe.Get(ctx, epochKey)
		err = exec(ctx, pipe)
		if f, ok = format.Parse(epoch.Val()); !ok && (epoch.Err() == nil || errors.Is(epoch.Err(), redis.Nil)) {
			return f, false, nil // whatever else was asked
		}
		if !ok || f == guess {
			break
		}
		r.seen.Store(&f)
	}
	return f, ok, err
}

// Format returns how Redis is filled. It returns ErrMiss if Redis is not complete.
func (r *Reader) Format(ctx context.Context) (Format, error) {
	f, ok, err := r.trip(ctx, func(redis.Pipeliner, Format) {})
	switch {
	case err != nil:
		return f, fmt.Errorf("redis key %q: %w", epochKey, err)
	case !ok:
		return f, fmt.Errorf("redis key %q: %w", epochKey, ErrMiss)
	}
	return f, nil
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

// Complete reports whether Redis is complete: it has everything that the topics had when the
// filling began, under the key names of this build.
func (r *Reader) Complete(ctx context.Context) (bool, error) {
	epoch := r.rdb.Get(ctx, epochKey)
	if err := epoch.Err(); err != nil && !errors.Is(err, redis.Nil) {
		return false, fmt.Errorf("redis key %q: %w", epochKey, err)
	}
	return complete(epoch), nil
}

// complete reports whether epoch states that Redis is complete, in a format that this build can
// read.
func complete(epoch *redis.StringCmd) bool {
	_, ok := format.Parse(epoch.Val())
	return ok
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
	if f, ok := format.Parse(epoch.Val()); !ok || len(hash.Val()) == 0 {
		return ReadPointer{}, missing(key, f.NoPointers, f)
	}
	p := entry.Hash{Key: key, Fields: hash.Val()}
	out := ReadPointer{MessageID: p.Text("last_read_id"), At: p.Time("last_read_at")}
	out.Seq = p.Number("last_read_seq")
	return out, p.Err
}
