package erase

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
)

// Cached is the outcome of the erasure in Redis.
type Cached struct {
	// Waited is true if the cache role removed its own keys, from the deltas of the erasure. If it
	// is false, the cache did not do so in time: it does not run or is behind. It will remove them
	// when it applies these deltas.
	Waited  bool `json:"waited"`
	Removed int  `json:"removed"` // keys and fields that this erasure removed
}

// batchKeys is how many keys one command checks.
const batchKeys = 500

// key is a key of the user in Redis, or with a field, a field of a hash.
type key struct{ name, field string }

// keys returns the keys that the erased channels and threads may have.
func (r *run) keys() []key {
	var list []key
	inbox, threads := cache.InboxKey(r.User), cache.InboxThreadsKey(r.User)
	for _, c := range r.res.Channels {
		list = append(list, key{inbox, c.ChannelID}, key{cache.ReadPointerKey(r.User, c.ChannelID), ""})
	}
	for _, t := range r.threads {
		list = append(list, key{threads, cache.ThreadField(t.channel, t.id)}, key{cache.ThreadReadKey(r.User, t.id), ""})
	}
	return list
}

// cachedThreads returns the user's threads in Redis.
func (r *run) cachedThreads(ctx context.Context, add func(channel, id string)) error {
	fields, err := r.Redis.HKeys(ctx, cache.InboxThreadsKey(r.User)).Result()
	if err != nil {
		return fmt.Errorf("querying Redis for %s: %w", cache.InboxThreadsKey(r.User), err)
	}
	for _, f := range fields {
		if channel, id, ok := strings.Cut(f, "\x00"); ok {
			add(channel, id)
		}
	}
	return nil
}

// uncache waits for the cache role to apply the erasure, and then removes the keys that it left. If
// it removed cached values earlier, older deltas would bring them back.
func (r *run) uncache(ctx context.Context) error {
	r.res.Redis = &Cached{}
	left := r.keys()
	deadline := time.Now().Add(r.Patience)
	for {
		var err error
		if left, err = r.existing(ctx, left); err != nil {
			return err
		}
		if len(left) == 0 {
			r.res.Redis.Waited = true
			break
		}
		r.Report("waiting for the cache", 0, len(left))
		if time.Now().After(deadline) {
			break
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	if len(r.Channels) == 0 { // all channels of the user: also presence, and hashes that belong to no channel
		for _, name := range []string{cache.InboxKey(r.User), cache.InboxThreadsKey(r.User), cache.PresenceKey(r.User)} {
			left = append(left, key{name, ""})
		}
	}
	for len(left) > 0 {
		n := min(batchKeys, len(left))
		pipe := r.Redis.Pipeline()
		removed := make([]*redis.IntCmd, n)
		for i, k := range left[:n] {
			if k.field != "" {
				removed[i] = pipe.HDel(ctx, k.name, k.field)
			} else {
				removed[i] = pipe.Del(ctx, k.name)
			}
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("removing keys from Redis: %w", err)
		}
		for _, c := range removed {
			r.res.Redis.Removed += int(c.Val())
		}
		left = left[n:]
	}
	return nil
}

// existing returns the keys that exist.
func (r *run) existing(ctx context.Context, keys []key) (left []key, err error) {
	for len(keys) > 0 {
		n := min(batchKeys, len(keys))
		pipe := r.Redis.Pipeline()
		is := make([]func() bool, n)
		for i, k := range keys[:n] {
			if k.field != "" {
				c := pipe.HExists(ctx, k.name, k.field)
				is[i] = func() bool { return c.Val() }
			} else {
				c := pipe.Exists(ctx, k.name)
				is[i] = func() bool { return c.Val() > 0 }
			}
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, fmt.Errorf("querying Redis for the remains of the user: %w", err)
		}
		for i, k := range keys[:n] {
			if is[i]() {
				left = append(left, k)
			}
		}
		keys = keys[n:]
	}
	return left, nil
}
