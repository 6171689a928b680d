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

// Totals sum up an inbox. Muted channels are left out, and their threads. The badge is Unread + ThreadUnread.
type Totals struct {
	Unread         uint64
	Mentions       uint64
	UnreadChannels int
	// Of the threads that are listed.
	ThreadUnread, ThreadMentions uint64
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

// Inbox returns a user's channels, in no order; the totals are those of View.
func (r *Reader) Inbox(ctx context.Context, user string) ([]Entry, Totals, error) {
	v, err := r.View(ctx, user)
	if err != nil {
		return nil, Totals{}, err
	}
	return v.Channels, v.Totals, nil
}

// View is all that a user sees: his channels and the threads that are listed, in no order, and what they come to.
type View struct {
	Channels, Threads []Entry
	Totals            Totals
}

// View returns a user's channels and threads in two round trips; in one if none of the channels is large. It is ErrMiss
// if Redis is not complete, or has nothing of the user: also for one who is in no channel, since absence proves nothing.
//
// A thread is listed for 30 days (DESIGN §4.4). Redis does not know the log time of a partition; the newest message among
// the user's own channels and threads stands for it. So of a user of whose channels none has a new message a thread is
// listed longer than the query service does.
func (r *Reader) View(ctx context.Context, user string) (*View, error) {
	pipe := r.rdb.Pipeline()
	inbox := pipe.HGetAll(ctx, InboxKey(user))
	threads := pipe.HGetAll(ctx, InboxThreadsKey(user))
	// After the hashes: an epoch that is still there says that they were whole.
	epoch := pipe.Exists(ctx, epochKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("inbox of user %q: %w", user, err)
	}
	if epoch.Val() == 0 || len(inbox.Val()) == 0 {
		return nil, fmt.Errorf("inbox of user %q: %w", user, ErrMiss)
	}
	v := new(View)
	if err := r.readChannels(ctx, user, inbox.Val(), v); err != nil {
		return nil, err
	}
	all, err := parseThreads(user, threads.Val())
	if err != nil {
		return nil, err
	}
	v.listThreads(all)
	return v, nil
}

// readChannels adds the fields of an inbox, and asks for the records of the large ones among them.
func (r *Reader) readChannels(ctx context.Context, user string, inbox map[string]string, v *View) error {
	entries := make([]Entry, 0, len(inbox))
	var large []int
	for channel, value := range inbox {
		e, err := parseEntry(channel, value)
		if err != nil {
			return fmt.Errorf("redis key %q: %w", InboxKey(user), err)
		}
		if e.Large {
			large = append(large, len(entries))
		}
		entries = append(entries, e)
	}
	if len(large) > 0 {
		pipe := r.rdb.Pipeline()
		hashes := make([]*redis.MapStringStringCmd, len(large))
		for i, at := range large {
			hashes[i] = pipe.HGetAll(ctx, ChannelLatestKey(entries[at].ChannelID))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("large channels of user %q: %w", user, err)
		}
		for i, at := range large {
			c, err := channelOf(entries[at].ChannelID, hashes[i])
			if err != nil && !errors.Is(err, ErrMiss) {
				return err
			}
			entries[at].settle(c)
		}
	}
	for i := range entries {
		v.Totals.add(&entries[i])
	}
	v.Channels = entries
	return nil
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
