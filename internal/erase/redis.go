package erase

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
)

// Cached says what became of what Redis held of the user.
type Cached struct {
	// Waited: the cache role took its own keys out, from the deltas of the erasure. False: it did not within the time given,
	// so it does not run or is behind. What it still has to apply says the same.
	Waited  bool `json:"waited"`
	Removed int  `json:"removed"` // keys and fields that were taken out here
}

// batchKeys is how many keys are asked about at once.
const batchKeys = 500

// key is one of the user's in Redis, or with a field one of a hash.
type key struct{ name, field string }

// keys are those that the erased channels and threads may have.
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

// cachedThreads names the threads that Redis knows of the user.
func (r *run) cachedThreads(ctx context.Context, add func(channel, id string)) error {
	fields, err := r.Redis.HKeys(ctx, cache.InboxThreadsKey(r.User)).Result()
	if err != nil {
		return fmt.Errorf("asking Redis for %s: %w", cache.InboxThreadsKey(r.User), err)
	}
	for _, f := range fields {
		if channel, id, ok := strings.Cut(f, "\x00"); ok {
			add(channel, id)
		}
	}
	return nil
}

// uncache waits for the cache role to apply the erasure, and then takes out what it did not: what is cached belongs to the
// role, so that removing it before would only be undone by deltas from before the erasure.
func (r *run) uncache(ctx context.Context) error {
	r.res.Redis = &Cached{}
	left := r.keys()
	deadline := time.Now().Add(r.Patience)
	for {
		var err error
		if left, err = r.there(ctx, left); err != nil {
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
	if len(r.Channels) == 0 { // all of him: presence, and hashes that have nothing to do with any channel he was in
		for _, name := range []string{cache.InboxKey(r.User), cache.InboxThreadsKey(r.User), "ws:" + r.User} {
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

// there are those of keys that exist.
func (r *run) there(ctx context.Context, keys []key) (left []key, err error) {
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
			return nil, fmt.Errorf("asking Redis what is left of the user: %w", err)
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
