package checker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/script"
	"github.com/tidemark/tidemark/projections"
)

// Redis compares all inboxes and threads in Redis with the model, field by field, and wants none of others and
// nothing of who is gone (O7).
func Redis(ctx context.Context, tr *Log, rdb *redis.Client) *Findings {
	f := &Findings{What: "Redis against the model of the log"}
	reader := cache.NewReader(rdb)
	if err := rdb.Get(ctx, "tidemark:epoch").Err(); err != nil {
		f.Add("tidemark:epoch, which says that Redis is complete: %v", err)
		return f
	}
	keys := rdb.Scan(ctx, 0, "inbox:*", 1000).Iterator()
	for keys.Next(ctx) {
		if user := strings.TrimPrefix(keys.Val(), "inbox:"); !slices.Contains(tr.Users, user) {
			f.Add("%s: there is no such user", keys.Val())
		}
	}
	if err := keys.Err(); err != nil {
		f.Add("list the inboxes: %v", err)
	}
	keys = rdb.Scan(ctx, 0, "inbox-threads:*", 1000).Iterator()
	for keys.Next(ctx) {
		if user := strings.TrimPrefix(keys.Val(), "inbox-threads:"); !slices.Contains(tr.Users, user) {
			f.Add("%s: there is no such user", keys.Val())
		}
	}
	if err := keys.Err(); err != nil {
		f.Add("list the threads: %v", err)
	}
	for _, user := range tr.Users {
		entries, _, err := reader.Inbox(ctx, user)
		if err != nil && !errors.Is(err, cache.ErrMiss) {
			f.Add("inbox:%s: %v", user, err)
			continue
		}
		in := map[string]*cache.Entry{}
		for i := range entries {
			in[entries[i].ChannelID] = &entries[i]
		}
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
				if diff := cachedDiff(e, &now, tr.Model(channel).OpenInTime(user, channel, "")); diff != "" {
					f.Add("inbox:%s: %s: %s", user, channel, diff)
				}
			}
		}
		for channel := range in {
			f.Add("inbox:%s: has %s, which is no channel", user, channel)
		}
		cachedThreads(ctx, tr, reader, user, f)
	}
	tr.goneFromRedis(ctx, rdb, f)
	return f
}

// cachedDiff says how an entry differs from what it should be, empty if it does not. Where a time target is open the
// pointer moves without a delta, and so do the counts of a large channel.
func cachedDiff(e *cache.Entry, now *projections.View, open bool) string {
	type facts struct {
		Known                    bool
		Unread, Mentions, Queued uint32
		First                    string
		Read, Latest             uint32
		LatestAt                 int64
		Large, Muted             bool
		ReadEpoch                uint32
	}
	want := facts{true, now.Unread, now.Mentions, now.OfflineUnread, now.FirstUnread.MessageID, now.LastRead.Seq,
		now.Latest.Seq, 0, now.Large, now.Muted, now.ReadEpoch}
	got := facts{e.Known, e.Unread, e.Mentions, e.OfflineUnread, e.FirstUnreadID, e.LastReadSeq, e.LatestSeq, 0,
		e.Large, e.Muted, e.ReadEpoch}
	if now.Latest.Seq > 0 {
		want.LatestAt = now.Latest.At
	}
	if !e.LatestAt.IsZero() {
		got.LatestAt = e.LatestAt.UnixMilli()
	}
	if now.Large { // left out there
		want.First, want.Latest = "", 0
	}
	if open {
		got.Read = want.Read
		if now.Large {
			got.Unread, got.Mentions = want.Unread, want.Mentions
		}
	}
	switch {
	case got != want:
		return fmt.Sprintf("is\n    %+v\n  but should be\n    %+v", got, want)
	case !now.Stamp.Dominates(e.Stamp):
		return fmt.Sprintf("the stamp %s is ahead of the log, which ends at %s", script.FormatStamp(e.Stamp), script.FormatStamp(now.Stamp))
	}
	return ""
}
