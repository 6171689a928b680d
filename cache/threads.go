package cache

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// threadListed is how long a thread is listed after it was touched, in log time (DESIGN §4.4).
const threadListed = 30 * 24 * time.Hour

// Threads returns all threads that a user follows, in no order and whatever their age, in one round trip. None is no
// miss: Redis is complete, and he follows none that it was told of. Muted is false, as it stands with the channels.
func (r *Reader) Threads(ctx context.Context, user string) ([]Entry, error) {
	pipe := r.rdb.Pipeline()
	threads := pipe.HGetAll(ctx, InboxThreadsKey(user))
	epoch := pipe.Exists(ctx, epochKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("threads of user %q: %w", user, err)
	}
	if epoch.Val() == 0 {
		return nil, fmt.Errorf("threads of user %q: %w", user, ErrMiss)
	}
	return parseThreads(user, threads.Val())
}

// parseThreads reads the hash of a user's threads.
func parseThreads(user string, hash map[string]string) ([]Entry, error) {
	if len(hash) == 0 {
		return nil, nil
	}
	entries := make([]Entry, 0, len(hash))
	for field, value := range hash {
		channel, thread, ok := strings.Cut(field, "\x00")
		if !ok {
			return nil, fmt.Errorf("redis key %q: field %q is not channel, 0x00 and thread", InboxThreadsKey(user), field)
		}
		e, err := parseEntry(channel, value)
		if err != nil {
			return nil, fmt.Errorf("redis key %q, thread %q: %w", InboxThreadsKey(user), thread, err)
		}
		e.ThreadID = thread
		entries = append(entries, e)
	}
	return entries, nil
}

// listThreads adds those threads that are listed, in channels that the user is a member of.
func (v *View) listThreads(all []Entry) {
	if len(all) == 0 {
		return
	}
	muted := make(map[string]bool, len(v.Channels))
	var newest time.Time
	for i := range v.Channels {
		e := &v.Channels[i]
		muted[e.ChannelID] = e.Muted
		newest = later(newest, e.LatestAt)
	}
	for i := range all {
		newest = later(newest, all[i].LatestAt)
	}
	for _, e := range all {
		is, member := muted[e.ChannelID]
		if !member || newest.Sub(e.TouchedAt) > threadListed {
			continue
		}
		e.Muted = is
		v.Threads = append(v.Threads, e)
		if !is {
			v.Totals.ThreadUnread += uint64(e.Unread)
			v.Totals.ThreadMentions += uint64(e.Mentions)
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// ThreadRead is where a user stands in a thread.
type ThreadRead struct {
	MessageID string // empty if it has left the index
	At        time.Time
}

// ThreadRead returns where a user stands in a thread, where thread ids are unique across channels. It is ErrMiss if Redis
// is not complete, and also if the user has not moved there in the last 30 days.
func (r *Reader) ThreadRead(ctx context.Context, user, thread string) (ThreadRead, error) {
	key := ThreadReadKey(user, thread)
	pipe := r.rdb.Pipeline()
	hash := pipe.HGetAll(ctx, key)
	epoch := pipe.Exists(ctx, epochKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return ThreadRead{}, fmt.Errorf("redis key %q: %w", key, err)
	}
	if epoch.Val() == 0 || len(hash.Val()) == 0 {
		return ThreadRead{}, fmt.Errorf("redis key %q: %w", key, ErrMiss)
	}
	p := hashParser{key: key, hash: hash.Val()}
	return ThreadRead{MessageID: p.text("last_read_id"), At: p.time("last_read_at")}, p.err
}
