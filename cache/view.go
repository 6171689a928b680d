package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/cache/internal/format"
)

// Inbox returns a user's channels, in no particular order; the totals are those of View.
func (r *Reader) Inbox(ctx context.Context, user string) ([]Entry, Totals, error) {
	v, err := r.View(ctx, user)
	if err != nil {
		return nil, Totals{}, err
	}
	return v.Channels, v.Totals, nil
}

// View has everything that a user sees: their channels and listed threads, in no particular order,
// and the totals, over all and by label.
type View struct {
	Channels, Threads []Entry
	Totals            Totals
	TotalsByLabel     map[string]Totals
	EvaluatedAt       time.Time // the time of Levels, Muted and the totals
	// Without lists the families of keys that Redis is filled without (--redis-keys). Without
	// threads the totals include only channels; without channels an entry is not Known if it
	// depends on a channel record.
	Without []string
}

// View returns a user's channels and threads in two round trips. One is enough if no channel is
// large or filed by the user, and if no channel at all ever had labels or was archived for
// everybody. View returns ErrMiss if Redis is not complete or has nothing of the user. That
// includes users without any channel, because absence proves nothing.
//
// A thread is listed for 30 days of log time (DESIGN §4.4), unless the cache lists all of them.
// Redis does not have the log time of a partition, so View uses the time of the newest message in
// the user's own channels and threads instead. If none of these has new messages, View lists a
// thread for longer than the query service does; if another partition is ahead of the thread's, for
// less long.
func (r *Reader) View(ctx context.Context, user string) (*View, error) {
	pipe := r.rdb.Pipeline()
	inbox := pipe.HGetAll(ctx, InboxKey(user))
	threads := pipe.HGetAll(ctx, InboxThreadsKey(user))
	updated, listing := pipe.Get(ctx, updatedKey), pipe.Get(ctx, listingKey)
	// The epoch is read after the hashes: if it exists, they were complete.
	epoch := pipe.Get(ctx, epochKey)
	if err := exec(ctx, pipe); err != nil {
		return nil, fmt.Errorf("inbox of user %q: %w", user, err)
	}
	f, ok := format.Parse(epoch.Val())
	if !ok || len(inbox.Val()) == 0 {
		return nil, fmt.Errorf("inbox of user %q: %w", user, ErrMiss)
	}
	v := &View{EvaluatedAt: r.now(), Without: f.Without()}
	if err := r.readChannels(ctx, user, f, inbox.Val(), updated.Val() != "", v); err != nil {
		return nil, err
	}
	if !f.NoThreads {
		all, err := parseThreads(user, threads.Val())
		if err != nil {
			return nil, err
		}
		v.listThreads(all, listing.Val() == listedAlways)
	}
	v.sum()
	return v, nil
}

// readChannels adds the channels of an inbox to v, and reads the records that are needed: those of
// large channels and those that can end a filing; with updated, all, because some have labels or
// are archived.
func (r *Reader) readChannels(ctx context.Context, user string, f Format, inbox map[string]string, updated bool, v *View) error {
	v.Channels = make([]Entry, 0, len(inbox))
	var need []int
	now := v.EvaluatedAt.UnixMilli()
	for channel, value := range inbox {
		e, err := entry.Parse(channel, value)
		if err != nil {
			return fmt.Errorf("redis key %q: %w", InboxKey(user), err)
		}
		e.Judge(now)
		switch {
		case f.NoChannels:
			e.Unsettled(updated)
		case updated || e.Large || e.Filed.Is:
			need = append(need, len(v.Channels))
		}
		v.Channels = append(v.Channels, e)
	}
	if len(need) == 0 {
		return nil
	}
	pipe := r.rdb.Pipeline()
	records := make([]record, len(need))
	for i, at := range need {
		records[i] = askRecord(ctx, pipe, v.Channels[at].ChannelID, v.Channels[at].Large, f)
	}
	if err := exec(ctx, pipe); err != nil {
		return fmt.Errorf("channels of user %q: %w", user, err)
	}
	for i, at := range need {
		if err := settleBy(&v.Channels[at], records[i]); err != nil {
			return err
		}
	}
	return nil
}

// settleBy is Entry.Settle with an answer of Redis.
func settleBy(e *Entry, r record) error {
	c, err := r.channel(e.ChannelID)
	if err != nil {
		return err
	}
	e.Settle(c)
	return nil
}

// Unread returns one channel of a user in one round trip. It returns ErrMiss if Redis is not
// complete, or does not have the user as a member.
func (r *Reader) Unread(ctx context.Context, user, channel string) (Entry, error) {
	var field, updated *redis.StringCmd
	var of record
	f, ok, err := r.trip(ctx, func(pipe redis.Pipeliner, f Format) {
		field = pipe.HGet(ctx, InboxKey(user), channel)
		of = askRecord(ctx, pipe, channel, true, f)
		updated = nil
		if f.NoChannels {
			updated = pipe.Get(ctx, updatedKey)
		}
	})
	if err != nil {
		return Entry{}, fmt.Errorf("unread of user %q in channel %q: %w", user, channel, err)
	}
	if !ok || errors.Is(field.Err(), redis.Nil) {
		return Entry{}, fmt.Errorf("unread of user %q in channel %q: %w", user, channel, ErrMiss)
	}
	e, err := entry.Parse(channel, field.Val())
	if err != nil {
		return Entry{}, fmt.Errorf("redis key %q: %w", InboxKey(user), err)
	}
	e.Judge(r.now().UnixMilli())
	if f.NoChannels {
		e.Unsettled(updated != nil && updated.Val() != "")
		return e, nil
	}
	if err := settleBy(&e, of); err != nil {
		return Entry{}, err
	}
	return e, nil
}
