package rebuild

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/guard"
)

func (r *redisCheck) stray(number int32, user string, e *cache.Entry) {
	if r.beyond(number, e.Stamp) {
		r.count(&r.out.Newer)
		return
	}
	r.differs(Difference{Partition: number, Channel: e.ChannelID, User: user, Field: "the entry", Is: fmt.Sprintf("there, with unread %d", e.Unread),
		Want: "none: the user is no member"}, cache.InboxKey(user), e.ChannelID)
}

// strays finds inboxes, threads and channels that belong to no partition's state.
func (r *redisCheck) strays(ctx context.Context) error {
	g, gctx := guard.WithContext(ctx)
	g.SetLimit(askers)
	from := len(r.found)
	look := func(kind string, at func(context.Context, string) error) error {
		ids, err := r.ids(ctx, kind)
		for _, id := range ids {
			g.Go("looking for strays in Redis", func() error { return at(gctx, id) })
		}
		return err
	}
	err := look(cache.InboxKey(""), r.strayInbox)
	if !r.format.NoThreads {
		err = errors.Join(err, look(cache.InboxThreadsKey(""), r.strayThreads))
	}
	if !r.format.NoChannels {
		err = errors.Join(err, look(cache.ChannelLatestKey(""), r.strayChannel))
	}
	err = errors.Join(err, g.Wait())
	r.inOrder(from)
	return err
}

// ids are the ids that Redis may have a key of a kind for: all that it has, or those that are
// checked again.
func (r *redisCheck) ids(ctx context.Context, kind string) (list []string, err error) {
	seen := map[string]bool{} // a scan may name a key twice
	if r.only != nil {
		for _, p := range r.only {
			from := p.users
			if kind == cache.ChannelLatestKey("") {
				from = p.channels
			}
			maps.Copy(seen, from)
		}
		return slices.Collect(maps.Keys(seen)), nil
	}
	it := r.c.Redis.Scan(ctx, 0, kind+"*", 1000).Iterator()
	for it.Next(ctx) {
		if id, ok := cache.IDOfKey(kind, it.Val()); ok && !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("querying Redis: %w", err)
	}
	return list, nil
}

func (r *redisCheck) strayInbox(ctx context.Context, user string) error {
	entries, _, err := r.reader.Inbox(ctx, user)
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return err
	}
	for i := range entries {
		if n, ok := r.compares(entries[i].ChannelID); ok && !r.wasVisited(user, n) {
			r.stray(n, user, &entries[i])
		}
	}
	return nil
}

func (r *redisCheck) strayChannel(ctx context.Context, id string) error {
	n, ok := r.compares(id)
	if !ok || r.channels[id] {
		return nil
	}
	if r.only != nil { // it may be gone
		if _, err := r.reader.Channel(ctx, id); err != nil {
			if errors.Is(err, cache.ErrMiss) {
				return nil
			}
			return err
		}
	}
	newer, err := r.channelBeyond(ctx, n, id)
	switch {
	case err != nil:
		return err
	case newer:
		r.count(&r.out.Newer)
	default:
		r.differs(Difference{Partition: n, Channel: id, Field: "the key", Is: "there", Want: "none: there is no such channel"}, cache.ChannelLatestKey(id), "")
	}
	return nil
}

// onlyWrong keeps for repair only what other checks also find wrong.
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

// repair removes wrong values, and makes the cache fill Redis from the start of its topics. It
// removes them first, because a value whose stamp is too high would stay otherwise.
func (r *redisCheck) repair(ctx context.Context) error {
	if len(r.wrong) == 0 {
		return nil
	}
	for key, fields := range r.wrong {
		if len(fields) == 0 {
			keys := []string{key}
			if id, isChannel := cache.IDOfKey(cache.ChannelLatestKey(""), key); isChannel {
				keys = append(keys, cache.ChannelStampKey(id))
			}
			if err := r.c.Redis.Del(ctx, keys...).Err(); err != nil {
				return fmt.Errorf("querying Redis: %w", err)
			}
			continue
		}
		for f := range fields {
			if err := r.c.Redis.HDel(ctx, key, f).Err(); err != nil {
				return fmt.Errorf("querying Redis: %w", err)
			}
		}
	}
	if err := r.c.Redis.Del(ctx, epochKey).Err(); err != nil {
		return fmt.Errorf("querying Redis: %w", err)
	}
	r.out.Repaired = true
	return nil
}
