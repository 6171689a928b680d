package cache

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/library"
	"github.com/tidemark/tidemark/events"
)

// AnswerOf returns a view in the form of the function tidemark_inbox.
func AnswerOf(t testing.TB, v *View) any {
	t.Helper()
	order := func(list []Entry, news func(e *Entry) bool) {
		slices.SortFunc(list, func(a, b Entry) int {
			if na, nb := news(&a), news(&b); na != nb {
				if na {
					return -1
				}
				return 1
			}
			return cmp.Or(b.LatestAt.Compare(a.LatestAt), cmp.Compare(a.ChannelID, b.ChannelID), cmp.Compare(a.ThreadID, b.ThreadID))
		})
	}
	order(v.Channels, func(e *Entry) bool { return !e.Known || e.Unread > 0 || e.Flagged })
	order(v.Threads, func(e *Entry) bool { return e.Unread > 0 })
	channels, threads, labels := []any{}, []any{}, map[string]any{}
	for i := range v.Channels {
		channels = append(channels, channelAnswer(&v.Channels[i]))
	}
	for i := range v.Threads {
		e := &v.Threads[i]
		m := entryAnswer(e)
		m["thread_id"] = e.ThreadID
		if !e.LatestAt.IsZero() {
			m["last_reply"] = map[string]any{"seq": e.LatestSeq, "at": timeAnswer(e.LatestAt)}
		}
		if !e.TouchedAt.IsZero() {
			m["touched_at"] = timeAnswer(e.TouchedAt)
		}
		threads = append(threads, m)
	}
	for l, of := range v.TotalsByLabel {
		labels[l] = totalsAnswer(of)
	}
	return plain(t, map[string]any{
		"channels": channels, "threads": threads, "totals": totalsAnswer(v.Totals), "totals_by_label": labels,
		"evaluated_at": timeAnswer(v.EvaluatedAt), "without": append([]string{}, v.Without...),
	})
}

// plain is v as a JSON parser gives it.
func plain(t testing.TB, v any) (out any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func entryAnswer(e *Entry) map[string]any {
	m := map[string]any{
		"channel_id": e.ChannelID, "last_read": map[string]any{"seq": e.LastReadSeq}, "read_epoch": e.ReadEpoch, "stamp": e.Stamp.String(),
		"level": events.LevelNames[e.Levels.Level], "muted": e.Muted, "archived": e.Archived,
	}
	if e.Known {
		m["unread"], m["mentions"], m["direct_mentions"] = e.Unread, e.Mentions, e.DirectMentions
	}
	if e.FirstUnreadID != "" {
		m["first_unread"] = map[string]any{"message_id": e.FirstUnreadID}
	}
	if e.FirstMention != (Ref{}) {
		m["first_mention"] = refAnswer(e.FirstMention)
	}
	if e.Levels.Until != 0 {
		m["until"], m["level_after"] = timeAnswer(time.UnixMilli(e.Levels.Until)), events.LevelNames[e.Levels.After]
	}
	return m
}

func channelAnswer(e *Entry) map[string]any {
	m := entryAnswer(e)
	m["member"], m["known"], m["offline_unread"] = true, e.Known, e.OfflineUnread
	m["flagged"], m["ignore_mention_all"], m["large"] = e.Flagged, e.IgnoreAll, e.Large
	m["labels"], m["own_labels"] = append([]string{}, e.Labels...), append([]string{}, e.OwnLabels...)
	if !e.LatestAt.IsZero() {
		latest := map[string]any{"at": timeAnswer(e.LatestAt)}
		if !e.Large {
			latest["seq"] = e.LatestSeq
		}
		m["latest"] = latest
	}
	if e.Filed.Is {
		m["filed"] = map[string]any{"keep": e.Filed.Keep, "pos": e.Filed.Pos}
	}
	if e.Line != (Ref{}) {
		m["line"] = refAnswer(e.Line)
	}
	return m
}

func refAnswer(r Ref) any { return map[string]any{"message_id": r.MessageID, "seq": r.Seq} }

func timeAnswer(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func totalsAnswer(n Totals) any {
	return map[string]any{
		"unread": n.Unread, "mentions": n.Mentions, "unread_channels": n.UnreadChannels, "thread_unread": n.ThreadUnread, "thread_mentions": n.ThreadMentions,
		"badge": n.Badge, "unread_threads": n.UnreadThreads, "flagged": n.Flagged,
		"archived": map[string]any{"unread_channels": n.ArchivedChannels, "mentions": n.ArchivedMentions}, "unknown": n.Unknown,
	}
}

// Called returns the function's answer about a user at a time; nil for a miss.
func Called(t testing.TB, rdb *redis.Client, user string, now int64) (any, error) {
	t.Helper()
	text, err := rdb.FCallRO(t.Context(), library.Function, []string{InboxKey(user)}, now).Text()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var out any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out, nil
}

// LoadLibrary loads the functions.
func LoadLibrary(t testing.TB, rdb *redis.Client) {
	t.Helper()
	if _, err := library.Load(t.Context(), rdb); err != nil {
		t.Fatal(err)
	}
}
