package rebuild

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/tidemark/tidemark/cache"
)

func (r *redisCheck) stray(number int32, user string, e *cache.Entry) {
	if r.beyond(number, e.Stamp) {
		r.out.Newer++
		return
	}
	r.differs(Difference{Partition: number, Channel: e.ChannelID, User: user, Field: "the entry", Is: fmt.Sprintf("there, with unread %d", e.Unread),
		Want: "none: the user is no member"}, cache.InboxKey(user), e.ChannelID)
}

// strays finds inboxes and channels that no partition knows of.
func (r *redisCheck) strays(ctx context.Context) error {
	inbox := cache.InboxKey("")
	seen := map[string]bool{} // a scan may name a key twice
	it := r.c.Redis.Scan(ctx, 0, inbox+"*", 1000).Iterator()
	for it.Next(ctx) {
		if seen[it.Val()] {
			continue
		}
		seen[it.Val()] = true
		user := strings.TrimPrefix(it.Val(), inbox)
		entries, _, err := r.reader.Inbox(ctx, user)
		if err != nil && !errors.Is(err, cache.ErrMiss) {
			return err
		}
		for i := range entries {
			if n, ok := r.compares(entries[i].ChannelID); ok && !r.visited[visit{user, n}] {
				r.stray(n, user, &entries[i])
			}
		}
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("asking Redis: %w", err)
	}
	if err := r.strayThreads(ctx); err != nil {
		return err
	}
	latest := cache.ChannelLatestKey("")
	it = r.c.Redis.Scan(ctx, 0, latest+"*", 1000).Iterator()
	for it.Next(ctx) {
		id := strings.TrimPrefix(it.Val(), latest)
		if n, ok := r.compares(id); ok && !r.channels[id] {
			r.channels[id] = true
			newer, err := r.channelBeyond(ctx, n, id)
			if err != nil {
				return err
			}
			if newer {
				r.out.Newer++
				continue
			}
			r.differs(Difference{Partition: n, Channel: id, Field: "the key", Is: "there", Want: "none: there is no such channel"}, it.Val(), "")
		}
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("asking Redis: %w", err)
	}
	return nil
}

// onlyWrong leaves only that to repair which others find wrong, too.
func (r *redisCheck) onlyWrong(others map[string]map[string]bool) {
	for key, fields := range r.wrong {
		theirs, there := others[key]
		if len(fields) == 0 || there && len(theirs) == 0 { // the key as a whole
			if !there {
				delete(r.wrong, key)
			}
			continue
		}
		maps.DeleteFunc(fields, func(f string, _ bool) bool { return !theirs[f] })
		if len(fields) == 0 {
			delete(r.wrong, key)
		}
	}
}

// repair takes out what is wrong, and asks the cache to fill Redis from the start of its topics. In this order: what has a
// stamp that is too high would stay.
func (r *redisCheck) repair(ctx context.Context) error {
	if len(r.wrong) == 0 {
		return nil
	}
	for key, fields := range r.wrong {
		if len(fields) == 0 {
			id, isChannel := strings.CutPrefix(key, cache.ChannelLatestKey(""))
			keys := []string{key}
			if isChannel {
				keys = append(keys, "channel-stamp:"+id)
			}
			if err := r.c.Redis.Del(ctx, keys...).Err(); err != nil {
				return fmt.Errorf("asking Redis: %w", err)
			}
			continue
		}
		for f := range fields {
			if err := r.c.Redis.HDel(ctx, key, f).Err(); err != nil {
				return fmt.Errorf("asking Redis: %w", err)
			}
		}
	}
	if err := r.c.Redis.Del(ctx, epochKey).Err(); err != nil {
		return fmt.Errorf("asking Redis: %w", err)
	}
	r.out.Repaired = true
	return nil
}
