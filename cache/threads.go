package cache

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/cache/internal/format"
)

// threadListed is how long a thread is listed after it was touched, in log time (DESIGN §4.4).
const threadListed = 30 * 24 * time.Hour

// Values of listingKey.
const (
	listedMonth  = "30d"
	listedAlways = "always"
)

// Threads returns all threads that a user follows, in no particular order and of any age, in one
// round trip. An empty answer is not a miss: Redis is complete and has none. The entries do not
// have the fields that are set for channels: Levels, Muted, Archived and Labels.
func (r *Reader) Threads(ctx context.Context, user string) ([]Entry, error) {
	pipe := r.rdb.Pipeline()
	threads := pipe.HGetAll(ctx, InboxThreadsKey(user))
	epoch := pipe.Get(ctx, epochKey)
	if err := exec(ctx, pipe); err != nil {
		return nil, fmt.Errorf("threads of user %q: %w", user, err)
	}
	if f, ok := format.Parse(epoch.Val()); !ok || f.NoThreads {
		return nil, missing(InboxThreadsKey(user), f.NoThreads, f)
	}
	return parseThreads(user, threads.Val())
}

// parseThreads parses the hash of a user's threads.
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
		e, err := entry.Parse(channel, value)
		if err != nil {
			return nil, fmt.Errorf("redis key %q, thread %q: %w", InboxThreadsKey(user), thread, err)
		}
		e.ThreadID = thread
		entries = append(entries, e)
	}
	return entries, nil
}

// listThreads adds to v the listed threads of channels that the user is a member of; with always,
// threads of any age.
func (v *View) listThreads(all []Entry, always bool) {
	if len(all) == 0 {
		return
	}
	channels := make(map[string]*Entry, len(v.Channels))
	var newest time.Time
	for i := range v.Channels {
		e := &v.Channels[i]
		channels[e.ChannelID] = e
		newest = later(newest, e.LatestAt)
	}
	for i := range all {
		newest = later(newest, all[i].LatestAt)
	}
	for _, e := range all {
		in := channels[e.ChannelID]
		if in == nil || !always && newest.Sub(e.TouchedAt) > threadListed {
			continue
		}
		e.Levels, e.Muted, e.Archived, e.Labels, e.OwnLabels = in.Levels, in.Muted, in.Archived, in.Labels, in.OwnLabels
		v.Threads = append(v.Threads, e)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// ThreadRead is the read pointer of a user in a thread.
type ThreadRead struct {
	MessageID string // empty if it has left the index
	At        time.Time
}

// ThreadRead returns the read pointer of a user in a thread. Thread ids must be unique across
// channels. It returns ErrMiss if Redis is not complete, or if the pointer has not moved for 30
// days.
func (r *Reader) ThreadRead(ctx context.Context, user, thread string) (ThreadRead, error) {
	key := ThreadReadKey(user, thread)
	pipe := r.rdb.Pipeline()
	hash := pipe.HGetAll(ctx, key)
	epoch := pipe.Get(ctx, epochKey)
	if err := exec(ctx, pipe); err != nil {
		return ThreadRead{}, fmt.Errorf("redis key %q: %w", key, err)
	}
	if f, ok := format.Parse(epoch.Val()); !ok || len(hash.Val()) == 0 {
		return ThreadRead{}, missing(key, f.NoThreads || f.NoPointers, f)
	}
	p := entry.Hash{Key: key, Fields: hash.Val()}
	return ThreadRead{MessageID: p.Text("last_read_id"), At: p.Time("last_read_at")}, p.Err
}
