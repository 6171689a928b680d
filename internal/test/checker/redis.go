package checker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// Redis compares all inboxes and threads in Redis with the model, as of the time of the log's last
// record: field by field, and the totals. It finds keys of other users, and of users who are gone
// (O7).
func Redis(ctx context.Context, tr *Log, rdb *redis.Client) *Findings {
	f := &Findings{What: "Redis against the model of the log"}
	reader := cache.NewReader(rdb).At(time.UnixMilli(tr.now))
	if err := rdb.Get(ctx, "tidemark:epoch").Err(); err != nil {
		f.Add("tidemark:epoch, which says that Redis is complete: %v", err)
		return f
	}
	keys := rdb.Scan(ctx, 0, "inbox:*", 1000).Iterator()
	for keys.Next(ctx) {
		if user, ok := cache.IDOfKey(cache.InboxKey(""), keys.Val()); !ok || !slices.Contains(tr.Users, user) {
			f.Add("%s: there is no such user", keys.Val())
		}
	}
	if err := keys.Err(); err != nil {
		f.Add("list the inboxes: %v", err)
	}
	keys = rdb.Scan(ctx, 0, "inbox-threads:*", 1000).Iterator()
	for keys.Next(ctx) {
		if user, ok := cache.IDOfKey(cache.InboxThreadsKey(""), keys.Val()); !ok || !slices.Contains(tr.Users, user) {
			f.Add("%s: there is no such user", keys.Val())
		}
	}
	if err := keys.Err(); err != nil {
		f.Add("list the threads: %v", err)
	}
	for _, user := range tr.Users {
		view, err := reader.View(ctx, user)
		if errors.Is(err, cache.ErrMiss) {
			view, err = &cache.View{}, nil
		}
		if err != nil {
			f.Add("inbox:%s: %v", user, err)
			continue
		}
		in := map[string]*cache.Entry{}
		for i := range view.Channels {
			in[view.Channels[i].ChannelID] = &view.Channels[i]
		}
		got, right := CachedAnswer(view), tr.Right(user)
		right.AsCached(got)
		before := f.Count
		for _, channel := range tr.Channels() {
			now, ok := tr.View(user, channel)
			e := in[channel]
			delete(in, channel)
			switch member := ok && now.Member; {
			case !member && e != nil:
				f.Add("inbox:%s: has %s, of which the user is no member: %+v", user, channel, *e)
			case member && e == nil:
				f.Add("inbox:%s: %s is missing, it is\n    %s", user, channel, script.FormatView(&now))
			case member:
				if diff := cachedDiff(e, got.Channels[channel], right.Channels[channel], now.Stamp, right.ends); diff != "" {
					f.Add("inbox:%s: %s: %s", user, channel, diff)
				}
			}
		}
		for channel := range in {
			f.Add("inbox:%s: has %s, which is no channel", user, channel)
		}
		cachedThreads(ctx, tr, reader, user, f)
		if f.Count == before {
			of := &Findings{}
			got.CompareTotals(right, of)
			for _, what := range of.First {
				f.Add("inbox:%s: %s", user, what)
			}
		}
	}
	tr.goneFromRedis(ctx, rdb, f)
	return f
}

// cachedDiff describes how an entry differs from the right one, "" if it does not. An entry of fold
// version 1 has fewer fields.
func cachedDiff(e *cache.Entry, got, want Channel, now events.Stamp, ends bool) string {
	if e.Stamp.FoldVersion < 2 {
		want.DirectMentions, want.FirstMention = 0, projections.Ref{}
	}
	if diff := got.differs(want, ends); diff != "" {
		return diff
	}
	if !now.Dominates(e.Stamp) {
		return fmt.Sprintf("the stamp %s is ahead of the log, which ends at %s", script.FormatStamp(e.Stamp), script.FormatStamp(now))
	}
	return ""
}
