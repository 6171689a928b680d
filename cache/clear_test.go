package cache

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// older fills Redis with n keys from the topics, as a version before key formats did.
func older(t *testing.T, rdb *redis.Client, topics string, total, n int) {
	t.Helper()
	pipe, ctx := rdb.Pipeline(), t.Context()
	pipe.Set(ctx, epochKey, "0123456789abcdef", 0)
	pipe.HSet(ctx, cursorsKey, "id", "0123456789abcdef", "topics", topics, "total", total, "t/0", "1000000")
	for i := range n {
		pipe.HSet(ctx, fmt.Sprintf("inbox:ann:%d", i), "c", "{}")
	}
	for _, p := range valuePrefixes {
		pipe.HSet(ctx, p+"u:x", "a", "b")
	}
	pipe.Set(ctx, "inboxes", "of another program", 0)
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
}

// A filling removes the keys of another version before it writes anything, in calls of a bounded
// size. It removes nothing else.
func TestKeysOfAnotherFormatGo(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		older(t, rdb, "topics", 1, 3*clearKeys)
		f, why, clearing, err := openFilling(ctx, rdb, formatOf(rdb), "topics", 1)
		if err != nil || why != "format" || !clearing {
			t.Fatal(why, clearing, err)
		}
		if rdb.Exists(ctx, epochKey).Val() != 0 {
			t.Error("readers are told that Redis is complete")
		}
		// Another member that opens the filling now must do the same, because the first may die.
		g, why, clearing, err := openFilling(ctx, rdb, formatOf(rdb), "topics", 1)
		if err != nil || why != "" || !clearing || g.id != f.id {
			t.Fatal(why, clearing, err)
		}
		w := own(t, rdb).writer
		removed, err := f.clear(ctx, w.persist)
		if err != nil || removed < 3*clearKeys+len(valuePrefixes) {
			t.Fatal(removed, err)
		}
		if left := rdb.Keys(ctx, "*:*:*").Val(); len(left) > 0 {
			t.Errorf("keys of before are left: %q", left)
		}
		if rdb.Get(ctx, "inboxes").Val() == "" {
			t.Error("another program's key is gone")
		}
		// The second member is late, and values written since then stay.
		if err := rdb.HSet(ctx, InboxKey("ann:1"), "c", "{}").Err(); err != nil {
			t.Fatal(err)
		}
		if removed, err := g.clear(ctx, w.persist); err != nil || removed != 0 || rdb.Exists(ctx, InboxKey("ann:1")).Val() != 1 {
			t.Errorf("late: %d keys removed, %v", removed, err)
		}
		open(t, rdb, "topics", 1, "").begin(0, 0, 10, 0)
	})
}

// A member of an earlier version, without formats, does not join a filling that has one. The cache
// detects what such a member does.
func TestMembersOfBeforeAreKeptOut(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		c := open(t, rdb, "topics", 1, "empty")
		c.begin(0, 0, 0, 0)
		// It joins a filling with its topics and the epoch of its id, and replaces any other.
		if h := rdb.HGetAll(t.Context(), cursorsKey).Val(); h["topics"] == "topics" {
			t.Fatalf("it would join %v", h)
		}
		rdb.Del(t.Context(), epochKey, cursorsKey, ownersKey)
		older(t, rdb, "topics", 1, 1)
		if _, err := c.filling.advance(t.Context(), []step{{partition{Topic: "t", Number: 0}, 0, 0}}, &written{}); !errors.Is(err, errReopen) {
			t.Errorf("%v, want errReopen", err)
		}
		if _, why, clearing, err := openFilling(t.Context(), rdb, formatOf(rdb), "topics", 1); why != "format" || !clearing || err != nil {
			t.Error(why, clearing, err)
		}
	})
}

// Readers of this version accept no epoch of another version.
func TestReadersLookAtTheFormat(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		own(t, rdb).apply(t, reading(small("u", "c", 1, 1), "m", 1, t0), inThread(reading(small("u", "c", 1, 1), "m", 1, t0), "t"))
		r := NewReader(rdb)
		for _, epoch := range []string{"", "0123456789abcdef", "33/x", "1/x", "2/x", keyFormat + "x"} {
			rdb.Del(ctx, epochKey)
			if epoch != "" {
				rdb.Set(ctx, epochKey, epoch, 0)
			}
			_, _, inbox := r.Inbox(ctx, "u")
			_, unread := r.Unread(ctx, "u", "c")
			_, pointer := r.ReadPointer(ctx, "u", "c")
			_, threads := r.Threads(ctx, "u")
			_, thread := r.ThreadRead(ctx, "u", "t")
			for what, err := range map[string]error{"inbox": inbox, "unread": unread, "pointer": pointer, "threads": threads, "thread": thread} {
				if good := epoch == keyFormat+"x"; good && err != nil || !good && !errors.Is(err, ErrMiss) {
					t.Errorf("epoch %q, %s: %v", epoch, what, err)
				}
			}
		}
	})
}

// A cache that begins with the values of another version ends with those of the topics.
func TestCacheReplacesAnotherFormat(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		kafka := testkit.FakeKafka(t)
		topics := testkit.Topics(t, kafka.ListenAddrs(), 2, 1)
		produce(t, producer(t, kafka.ListenAddrs()), topics, 2, unreadRecord(reading(small("ann", "x:y", 1, 1), "m1", 1, t0)),
			unreadRecord(reading(small("ann:x", "y", 9, 9), "m9", 9, t0)), channelRecord(head("x:y", 1, 1)))
		m := start(t, kafka.ListenAddrs(), topics, rdb)
		m.ready(t)
		want := dump(t, rdb)
		m.stop()
		rdb.FlushAll(t.Context())
		older(t, rdb, "topics", 2, 5)
		// Values under unchanged key names are not trusted either. If they were, a pointer would be
		// missing.
		d := small("ann", "x:y", 1, 1)
		rdb.HSet(t.Context(), "inbox:ann", "x:y", string(entry.AppendValue(nil, d)))
		m = start(t, kafka.ListenAddrs(), topics, rdb)
		m.ready(t)
		if got := dump(t, rdb); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("Redis holds\n%v\nwant\n%v", got, want)
		}
		if n := counterOf(m.metrics.fillings.WithLabelValues("format")); n != 1 {
			t.Errorf("%v fillings because of the format", n)
		}
	})
}
