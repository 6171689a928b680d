package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var errNoField = errors.New("the field is missing")

// Reader reads what the cache role wrote. It needs no Kafka, and any number may be used at once.
//
// What it answers was true a moment ago: Redis follows the topics by milliseconds, under load or after a failure by
// more. What Redis cannot say is ErrMiss or an Entry that is not Known, never a zero.
type Reader struct {
	rdb redis.UniversalClient
}

// NewReader reads from a Redis that a Cache fills, or a replica of it.
func NewReader(rdb redis.UniversalClient) *Reader { return &Reader{rdb: rdb} }

// Totals sum up an inbox. Muted channels are left out.
type Totals struct {
	Unread         uint64
	Mentions       uint64
	UnreadChannels int
	// Unknown is the number of channels, not muted, whose counts are not known. The totals are exact if it is 0.
	Unknown int
}

func (t *Totals) add(e *Entry) {
	switch {
	case e.Muted:
	case !e.Known:
		t.Unknown++
	default:
		t.Unread += uint64(e.Unread)
		t.Mentions += uint64(e.Mentions)
		if e.Unread > 0 {
			t.UnreadChannels++
		}
	}
}

// Inbox returns a user's channels, in no order, in two round trips; in one if none of them is large. It is ErrMiss if
// Redis is not complete, or has nothing of the user: also for one who is in no channel, since absence proves nothing.
func (r *Reader) Inbox(ctx context.Context, user string) ([]Entry, Totals, error) {
	pipe := r.rdb.Pipeline()
	inbox := pipe.HGetAll(ctx, InboxKey(user))
	// After the hash: an epoch that is still there says that the hash was whole.
	epoch := pipe.Exists(ctx, epochKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, Totals{}, fmt.Errorf("inbox of user %q: %w", user, err)
	}
	if epoch.Val() == 0 || len(inbox.Val()) == 0 {
		return nil, Totals{}, fmt.Errorf("inbox of user %q: %w", user, ErrMiss)
	}
	entries := make([]Entry, 0, len(inbox.Val()))
	var large []int
	for channel, value := range inbox.Val() {
		e, err := parseEntry(channel, value)
		if err != nil {
			return nil, Totals{}, fmt.Errorf("redis key %q: %w", InboxKey(user), err)
		}
		if e.Large {
			large = append(large, len(entries))
		}
		entries = append(entries, e)
	}
	if len(large) > 0 {
		pipe = r.rdb.Pipeline()
		hashes := make([]*redis.MapStringStringCmd, len(large))
		for i, at := range large {
			hashes[i] = pipe.HGetAll(ctx, ChannelLatestKey(entries[at].ChannelID))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, Totals{}, fmt.Errorf("large channels of user %q: %w", user, err)
		}
		for i, at := range large {
			c, err := channelOf(entries[at].ChannelID, hashes[i])
			if err != nil && !errors.Is(err, ErrMiss) {
				return nil, Totals{}, err
			}
			entries[at].settle(c)
		}
	}
	var totals Totals
	for i := range entries {
		totals.add(&entries[i])
	}
	return entries, totals, nil
}

// Unread returns one channel of a user, in one round trip. It is ErrMiss if Redis is not complete or the user is, as far
// as Redis knows, no member.
func (r *Reader) Unread(ctx context.Context, user, channel string) (Entry, error) {
	pipe := r.rdb.Pipeline()
	field := pipe.HGet(ctx, InboxKey(user), channel)
	hash := pipe.HGetAll(ctx, ChannelLatestKey(channel))
	epoch := pipe.Exists(ctx, epochKey)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return Entry{}, fmt.Errorf("unread of user %q in channel %q: %w", user, channel, err)
	}
	if epoch.Val() == 0 || errors.Is(field.Err(), redis.Nil) {
		return Entry{}, fmt.Errorf("unread of user %q in channel %q: %w", user, channel, ErrMiss)
	}
	e, err := parseEntry(channel, field.Val())
	if err != nil {
		return Entry{}, fmt.Errorf("redis key %q: %w", InboxKey(user), err)
	}
	if e.Large {
		c, err := channelOf(channel, hash)
		if err != nil && !errors.Is(err, ErrMiss) {
			return Entry{}, err
		}
		e.settle(c)
	}
	return e, nil
}

// Channel returns a channel's head. It is ErrMiss if Redis is not complete or does not know the channel.
func (r *Reader) Channel(ctx context.Context, channel string) (*Channel, error) {
	pipe := r.rdb.Pipeline()
	hash := pipe.HGetAll(ctx, ChannelLatestKey(channel))
	epoch := pipe.Exists(ctx, epochKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("channel %q: %w", channel, err)
	}
	if epoch.Val() == 0 {
		return nil, fmt.Errorf("channel %q: %w", channel, ErrMiss)
	}
	return channelOf(channel, hash)
}

func channelOf(id string, hash *redis.MapStringStringCmd) (*Channel, error) {
	if len(hash.Val()) == 0 {
		return nil, fmt.Errorf("channel %q: %w", id, ErrMiss)
	}
	return parseChannel(id, hash.Val())
}

// ReadPointer is where a user stands in a channel.
type ReadPointer struct {
	MessageID string // empty if it has left the index
	Seq       uint32
	At        time.Time
}

// ReadPointer returns where a user stands in a channel. It is ErrMiss if Redis is not complete, and also if the user has
// read nothing there.
func (r *Reader) ReadPointer(ctx context.Context, user, channel string) (ReadPointer, error) {
	key := ReadPointerKey(user, channel)
	pipe := r.rdb.Pipeline()
	hash := pipe.HGetAll(ctx, key)
	epoch := pipe.Exists(ctx, epochKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return ReadPointer{}, fmt.Errorf("redis key %q: %w", key, err)
	}
	if epoch.Val() == 0 || len(hash.Val()) == 0 {
		return ReadPointer{}, fmt.Errorf("redis key %q: %w", key, ErrMiss)
	}
	p := hashParser{key: key, hash: hash.Val()}
	out := ReadPointer{MessageID: p.text("last_read_id"), At: p.time("last_read_at")}
	out.Seq = p.number("last_read_seq")
	return out, p.err
}
