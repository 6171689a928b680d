package cache

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/events"
)

func equalDump(t *testing.T, rdb *redis.Client, want map[string]string) {
	t.Helper()
	got := dump(t, rdb)
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s:\n got %q\nwant %q", k, got[k], v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s: unexpected %q", k, v)
		}
	}
}

func TestUnreadKeysByteForByte(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		large := &events.UnreadDelta{
			UserID: []byte("u:1"), ChannelID: []byte(`c "2"`), Member: true, Large: true, Mentions: 1, ReadPos: 3,
			Excluded: []uint32{5, 7, 8, 9}, Mentioned: []uint32{6}, ReadEpoch: 2, Stamp: events.Stamp{FoldVersion: 1, M: 40, R: 2, D: 1},
		}
		n := w.apply(t, reading(small("u:1", "c1", 7, 3), `m"4\`, 4, t0), small("u2", "c1", 7, 0), large)
		if n != 3 {
			t.Errorf("applied %d of 3", n)
		}
		equalDump(t, rdb, map[string]string{
			"inbox:u%3A1 c1": `{"unread":7,"mentions":1,"offline_unread":0,"first_unread_id":"m1","last_read_seq":4,"read_pos":0,` +
				`"excluded":"","mentioned":"","latest_seq":7,"latest_at":"2026-01-02T03:04:05.685Z","large":false,"muted":false,"read_epoch":1,"stamp":"1.7.3.0"}`,
			`inbox:u%3A1 c "2"`: `{"mentions":1,"offline_unread":0,"last_read_seq":0,"read_pos":3,"excluded":"5,7-9","mentioned":"6",` +
				`"large":true,"muted":false,"read_epoch":2,"stamp":"1.40.2.1"}`,
			"inbox:u2 c1": `{"unread":7,"mentions":1,"offline_unread":0,"first_unread_id":"m1","last_read_seq":0,"read_pos":0,` +
				`"excluded":"","mentioned":"","latest_seq":7,"latest_at":"2026-01-02T03:04:05.685Z","large":false,"muted":false,"read_epoch":1,"stamp":"1.7.0.0"}`,
			"read-pointer:u%3A1:c1 last_read_id":  `m"4\`,
			"read-pointer:u%3A1:c1 last_read_at":  "2026-01-02T03:04:05.678Z",
			"read-pointer:u%3A1:c1 last_read_seq": "4",
		})
	})
}

// Whatever order deltas arrive in, alone or together, the one that dominates remains.
func TestDominatingStampIsNeverReplaced(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		stands := func(user, stamp string) {
			t.Helper()
			v, err := rdb.HGet(t.Context(), InboxKey(user), "c").Result()
			if e, perr := entry.Parse("c", v); err != nil || perr != nil || e.Stamp.String() != stamp {
				t.Errorf("user %s: %s (%v, %v), want stamp %s", user, v, err, perr, stamp)
			}
		}
		for _, c := range []struct {
			user          string
			first, second events.Stamp
			applied       int
			want          string
		}{
			{"newer message", stampOf(5, 5), stampOf(6, 5), 1, "1.6.5.0"},
			{"newer read", stampOf(5, 5), stampOf(5, 6), 1, "1.5.6.0"},
			{"older message", stampOf(5, 5), stampOf(4, 5), 0, "1.5.5.0"},
			{"older read", stampOf(5, 5), stampOf(5, 4), 0, "1.5.5.0"},
			{"equal", stampOf(5, 5), stampOf(5, 5), 0, "1.5.5.0"},
			{"neither", stampOf(5, 5), stampOf(4, 6), 1, "1.4.6.0"},
			{"newer fold", stampOf(5, 5), events.Stamp{FoldVersion: 2, M: 5, R: 5}, 1, "2.5.5.0"},
			{"older fold", events.Stamp{FoldVersion: 2, M: 5, R: 5}, stampOf(5, 5), 0, "2.5.5.0"},
			{"newer delivery", stampOf(5, 5), events.Stamp{FoldVersion: 1, M: 5, R: 5, D: 1}, 1, "1.5.5.1"},
			{"by number, not by text", stampOf(9, 5), stampOf(10, 5), 1, "1.10.5.0"},
			{"beyond 32 bits", stampOf(1<<40, 5), stampOf(1<<40+1, 5), 1, "1.1099511627777.5.0"},
			{"beyond 32 bits, older", stampOf(1<<40, 5), stampOf(1<<40-1, 5), 0, "1.1099511627776.5.0"},
		} {
			a, b := small(c.user, "c", 1, 1), small(c.user, "c", 1, 1)
			a.Stamp, b.Stamp = c.first, c.second
			w.apply(t, a)
			if n := w.apply(t, b); n != c.applied {
				t.Errorf("%s: applied %d, want %d", c.user, n, c.applied)
			}
			stands(c.user, c.want)
			together := "together: " + c.user
			a.UserID, b.UserID = []byte(together), []byte(together)
			w.apply(t, a, b)
			stands(together, c.want)
		}
	})
}

func TestLeavingRemovesAndStaysRemoved(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		in, out, again := reading(small("u", "c", 5, 1), "m4", 4, t0), reading(left("u", "c", 6, 1), "m4", 4, t0), reading(small("u", "c", 9, 1), "m4", 4, t0)
		w.apply(t, in, small("u", "other", 1, 0))
		has := func(want bool) {
			t.Helper()
			if got := rdb.HExists(t.Context(), "inbox:u", "c").Val(); got != want {
				t.Errorf("in the inbox: %v, want %v", got, want)
			}
		}
		has(true)
		if n := w.apply(t, out); n != 1 {
			t.Error("leaving was not applied")
		}
		has(false)
		// A late writer, and a repeated suffix.
		for _, d := range []*events.UnreadDelta{in, out, in} {
			if n := w.apply(t, d); n != 0 {
				t.Errorf("%v was applied after the user had left", d.Stamp.String())
			}
			has(false)
		}
		if p := rdb.HGet(t.Context(), "read-pointer:u:c", "last_read_seq").Val(); p != "4" {
			t.Errorf("read pointer of who left: %q, want 4: it is the user's own doing", p)
		}
		if ttl := rdb.TTL(t.Context(), "inbox-gone:u").Val(); ttl <= 23*time.Hour || ttl > 24*time.Hour {
			t.Errorf("the stamp of a removal is kept for %v, want 24 h", ttl)
		}
		if n := w.apply(t, again); n != 1 {
			t.Error("joining again was not applied")
		}
		has(true)
		if n := rdb.Exists(t.Context(), "inbox-gone:u").Val(); n != 0 {
			t.Error("the stamp of the removal is still there")
		}
		if n := w.apply(t, out); n != 0 {
			t.Error("the old removal was applied again")
		}
		has(true)
	})
}

func TestTombstoneForgets(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		w.apply(t, reading(small("u", "c", 5, 1), "m", 4, t0), small("u", "d", 5, 1), left("u", "e", 5, 1))
		w.send(t, w.join(new(batch), unreadTombstone("u", "c"), unreadTombstone("u", "e")))
		rdb.Del(t.Context(), ownersKey, w.marks)
		keys := rdb.Keys(t.Context(), "*").Val()
		if f := rdb.HKeys(t.Context(), "inbox:u").Val(); len(keys) != 1 || len(f) != 1 || f[0] != "d" {
			t.Errorf("left: keys %v, channels %v; want only channel d", keys, f)
		}
	})
}

func TestReadPointerFollows(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		stands := func(want map[string]string) {
			t.Helper()
			if got := rdb.HGetAll(t.Context(), "read-pointer:u:c").Val(); !maps.Equal(got, want) {
				t.Errorf("read pointer %v, want %v", got, want)
			}
		}
		at := func(id, when, seq string) map[string]string {
			return map[string]string{"last_read_id": id, "last_read_at": when, "last_read_seq": seq}
		}
		w.apply(t, small("u", "c", 1, 0))
		stands(map[string]string{})
		w.apply(t, reading(small("u", "c", 1, 1), "m4", 4, t0))
		stands(at("m4", "2026-01-02T03:04:05.678Z", "4"))
		w.apply(t, reading(small("u", "c", 2, 1), "m6", 6, t0+1)) // an own post moves it: r does not change
		stands(at("m6", "2026-01-02T03:04:05.679Z", "6"))
		w.apply(t, reading(small("u", "c", 1, 1), "m4", 4, t0)) // late
		stands(at("m6", "2026-01-02T03:04:05.679Z", "6"))
		w.apply(t, reading(small("u", "c", 2, 2), "m3", 3, t0+2)) // marked unread
		stands(at("m3", "2026-01-02T03:04:05.680Z", "3"))
		w.apply(t, small("u", "c", 2, 3)) // marked from the first message on: no pointer
		stands(map[string]string{})
	})
}

// collect collects published messages until there are that many.
func collect(t *testing.T, sub *redis.PubSub, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var got []string
	for len(got) < n {
		m, err := sub.ReceiveMessage(ctx)
		if err != nil {
			t.Fatalf("after %d of %d messages: %v", len(got), n, err)
		}
		got = append(got, m.Channel+" "+m.Payload)
	}
	return got
}

func TestPublishes(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		sub := rdb.Subscribe(t.Context(), UnreadChannel(`u"1`), ReadPointerChanges)
		defer sub.Close()
		for range 2 {
			if _, err := sub.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		first := reading(small(`u"1`, `c\1`, 5, 1), `m"4`, 4, t0)
		first.InstanceID = []byte("phone")
		w.apply(t, first)
		w.apply(t, first)                                            // stale: nothing is published
		w.apply(t, reading(small(`u"1`, `c\1`, 6, 1), `m"4`, 4, t0)) // the pointer stays
		w.apply(t, reading(left(`u"1`, `c\1`, 7, 1), `m"4`, 4, t0))
		quiet := small(`u"1`, `c\1`, 8, 2)
		w.part.publishFrom = 1
		w.apply(t, quiet)
		w.part.publishFrom = 0
		w.apply(t, reading(small(`u"1`, `c\1`, 8, 3), `m"4`, 4, t0))
		w.apply(t, small(`u"1`, `c\1`, 8, 4))

		value := func(d *events.UnreadDelta) string { return string(entry.AppendValue(nil, d))[1:] }
		const who, unread, changes = `{"user_id":"u\"1","channel_id":"c\\1",`, `unread:u"1 `, "read-pointer:changes "
		want := []string{
			unread + who + `"member":true,` + value(first),
			changes + who + `"last_read_id":"m\"4","last_read_at":"2026-01-02T03:04:05.678Z","instance_id":"phone"}`,
			unread + who + `"member":true,` + value(reading(small("", "", 6, 1), "", 4, t0)),
			unread + who + `"member":false,` + value(reading(left("", "", 7, 1), "", 4, t0)),
			unread + who + `"member":true,` + value(reading(small("", "", 8, 3), "", 4, t0)),
			changes + who + `"last_read_id":"m\"4","last_read_at":"2026-01-02T03:04:05.678Z","instance_id":""}`,
			unread + who + `"member":true,` + value(small("", "", 8, 4)),
			changes + who + `"last_read_id":"","last_read_at":"","instance_id":""}`,
		}
		got := collect(t, sub, len(want))
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("message %d:\n got %s\nwant %s", i, got[i], want[i])
			}
		}
	})
}

// One user's deltas are joined, even if they exceed one call.
func TestManyChannelsOfOneUser(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		const n = 6*chunkValues + 17
		var commands float64
		for _, m := range []int64{3, 4} { // in the second round the values in Redis are known
			var list []*events.UnreadDelta
			for i := range n {
				channel := "c" + stampOf(int64(i), 0).String()
				list = append(list, small("u", channel, m, 1), small("other", channel, m, 1))
			}
			commands = counterOf(w.metrics.commands)
			if got := w.apply(t, list...); got != 2*n {
				t.Errorf("applied %d, want %d", got, 2*n)
			}
			commands = counterOf(w.metrics.commands) - commands
		}
		if got := rdb.HLen(t.Context(), "inbox:u").Val(); got != n {
			t.Errorf("%d channels, want %d", got, n)
		}
		// A transaction has two commands of its own, two reads, one that joins 500 deltas, two for
		// a mark, and two queries for listeners. There are none.
		chunks := float64(2*n/chunkValues + 2)
		most := 7 * chunks
		if w.cold {
			most = 9 * chunks
		}
		if commands > most {
			t.Errorf("%v commands for %d deltas, want %v at most", commands, 2*n, most)
		}
	})
}
