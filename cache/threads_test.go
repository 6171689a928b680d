package cache

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/events"
)

// A thread has its own hashes beside those of its channel, and neither touches the other.
func TestThreadBesideItsChannel(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		thread := inThread(reading(small("u", "c", 5, 1), "m4", 4, t0), "t")
		if n := w.apply(t, small("u", "c", 7, 1), thread, inThread(small("u", "d", 1, 0), "t")); n != 3 {
			t.Errorf("applied %d, want 3", n)
		}
		want := map[string]string{
			"inbox:u c":                    string(entry.AppendValue(nil, small("u", "c", 7, 1))),
			"inbox-threads:u c\x00t":       string(entry.AppendValue(nil, thread)),
			"inbox-threads:u d\x00t":       string(entry.AppendValue(nil, inThread(small("u", "d", 1, 0), "t"))),
			"thread-read:u:t last_read_id": "m4",
			"thread-read:u:t last_read_at": "2026-01-02T03:04:05.678Z",
		}
		if got := dump(t, rdb); !maps.Equal(got, want) {
			t.Errorf("Redis holds %v, want %v", got, want)
		}
		const listed = 30 * 24 * time.Hour
		if ttl := rdb.TTL(t.Context(), "thread-read:u:t").Val(); ttl > listed || ttl < listed-time.Minute {
			t.Errorf("the pointer of a thread is kept for %v, want 30 days", ttl)
		}
		if ttl := rdb.TTL(t.Context(), "inbox-threads:u").Val(); ttl >= 0 {
			t.Errorf("the threads are kept for %v, want for good", ttl)
		}
		if n := w.apply(t, inThread(small("u", "c", 4, 1), "t"), inThread(small("u", "c", 5, 0), "t")); n != 0 {
			t.Errorf("%d values replaced one that dominates them", n)
		}
		w.apply(t, inThread(small("u", "c", 5, 2), "t")) // marked unread from the root on
		delete(want, "thread-read:u:t last_read_id")
		delete(want, "thread-read:u:t last_read_at")
		want["inbox-threads:u c\x00t"] = string(entry.AppendValue(nil, inThread(small("u", "c", 5, 2), "t")))
		if got := dump(t, rdb); !maps.Equal(got, want) {
			t.Errorf("after the mark Redis holds %v, want %v", got, want)
		}
	})
}

// With threads listed permanently their pointers stay, including those written before.
func TestThreadsKeptForGood(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		w.apply(t, inThread(reading(small("u", "c", 5, 1), "m4", 4, t0), "t"))
		w.keepThreads = true
		w.apply(t, inThread(reading(small("u", "c", 6, 1), "m5", 5, t0), "t"))
		if ttl := rdb.TTL(t.Context(), "thread-read:u:t").Val(); ttl != -1 {
			t.Errorf("the pointer is kept for %v, want for good", ttl)
		}
	})
}

func TestThreadThatIsLeft(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		in, out, again := inThread(small("u", "c", 5, 1), "t"), left("u", "c", 5, 2), inThread(small("u", "c", 5, 3), "t")
		out.ThreadID = []byte("t")
		has := func(want bool) {
			t.Helper()
			if got := rdb.HExists(t.Context(), "inbox-threads:u", ThreadField("c", "t")).Val(); got != want {
				t.Errorf("among the threads: %v, want %v", got, want)
			}
			if !rdb.HExists(t.Context(), "inbox:u", "c").Val() {
				t.Error("the channel is gone from the inbox")
			}
		}
		w.apply(t, small("u", "c", 5, 1), in)
		has(true)
		w.apply(t, out)
		has(false)
		for _, late := range []*events.UnreadDelta{in, out} {
			if n := w.apply(t, late); n != 0 {
				t.Errorf("%v was applied after the thread was left", late.Stamp.String())
			}
			has(false)
		}
		w.apply(t, again)
		has(true)
		w.send(t, w.join(new(batch), &kgo.Record{Topic: events.TopicUnread, Key: unreadRecord(in).Key}))
		has(false)
	})
}

func TestThreadIsPublished(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		sub := rdb.Subscribe(t.Context(), UnreadChannel("u"), ReadPointerChanges)
		defer sub.Close()
		for range 2 {
			if _, err := sub.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		thread := inThread(reading(small("u", "c", 5, 1), "m4", 4, t0), `t"1`)
		w.apply(t, thread)
		w.apply(t, reading(small("u", "c", 5, 2), "m4", 4, t0))
		// Moves of read pointers are published for channels only: the message has no field for a
		// thread.
		got := collect(t, sub, 3)
		want := []string{
			`unread:u {"user_id":"u","channel_id":"c","thread_id":"t\"1","member":true,` + string(entry.AppendValue(nil, thread))[1:],
			`unread:u {"user_id":"u","channel_id":"c","member":true,` + string(entry.AppendValue(nil, reading(small("u", "c", 5, 2), "m4", 4, t0)))[1:],
			`read-pointer:changes {"user_id":"u","channel_id":"c","last_read_id":"m4","last_read_at":"2026-01-02T03:04:05.678Z","instance_id":""}`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("published\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		u, err := ParseUpdate(strings.TrimPrefix(got[0], "unread:u "))
		if err != nil || u.ThreadID != `t"1` || u.ChannelID != "c" || u.Unread != 5 || !u.TouchedAt.Equal(time.UnixMilli(t0+5)) {
			t.Errorf("read back: %+v, %v", u, err)
		}
	})
}

// View lists threads for 30 days before the newest message that the user may know of, and adds up
// those whose channels are not muted.
func TestViewListsThreads(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		const days = 24 * 3600 * 1000
		rdb.Set(t.Context(), epochKey, formatOf(rdb).String()+"e", 0)
		w := own(t, rdb)
		touched := func(channel, id string, unread uint32, at int64) *events.UnreadDelta {
			d := inThread(small("u", channel, 9, 1), id)
			d.Unread, d.Latest.At, d.TouchedAt = unread, at, at
			return d
		}
		muted, busy := small("u", "muted", 1, 1), small("u", "busy", 1, 1)
		muted.Muted = true
		busy.Latest.At = t0 + 30*days
		readOnce := touched("c", "read", 4, t0-10*days)
		readOnce.TouchedAt = t0 + days
		w.apply(t, small("u", "c", 7, 1), muted, busy,
			touched("c", "new", 2, t0+20*days), touched("c", "just listed", 3, t0), touched("c", "old", 5, t0-1), readOnce,
			touched("muted", "m", 6, t0+20*days), touched("left", "x", 7, t0+20*days))
		r := NewReader(rdb)
		v, err := r.View(t.Context(), "u")
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(v.Threads, func(a, b Entry) int { return cmp.Compare(a.ThreadID, b.ThreadID) })
		var got []string
		for _, e := range v.Threads {
			got = append(got, e.ChannelID+"/"+e.ThreadID)
			if e.Muted != (e.ChannelID == "muted") || !e.Known {
				t.Errorf("thread %+v", e)
			}
		}
		if want := []string{"c/just listed", "muted/m", "c/new", "c/read"}; !slices.Equal(got, want) {
			t.Errorf("threads %v, want %v", got, want)
		}
		if want := (Totals{Unread: 8, Mentions: 2, UnreadChannels: 2, ThreadUnread: 9, ThreadMentions: 3, UnreadThreads: 3, Badge: 17}); v.Totals != want {
			t.Errorf("totals %+v, want %+v", v.Totals, want)
		}
		if _, totals, err := r.Inbox(t.Context(), "u"); err != nil || totals != v.Totals {
			t.Errorf("totals of the inbox: %+v, %v; want those of the view", totals, err)
		}
		if err := tellListing(t.Context(), rdb, true); err != nil {
			t.Fatal(err)
		}
		if v, err := r.View(t.Context(), "u"); err != nil || len(v.Threads) != 5 || v.Totals.ThreadUnread != 14 {
			t.Errorf("with --thread-listing always: %d threads, %+v, %v; want also c/old", len(v.Threads), v.Totals, err)
		}
		if err := tellListing(t.Context(), rdb, false); err != nil {
			t.Fatal(err)
		}
		if again, err := r.View(t.Context(), "u"); err != nil || again.Totals != v.Totals {
			t.Errorf("with 30d again: %+v, %v; want %+v", again.Totals, err, v.Totals)
		}
		all, err := r.Threads(t.Context(), "u")
		if err != nil || len(all) != 6 {
			t.Errorf("all threads: %+v, %v; want 6", all, err)
		}
	})
}

// A reader's answer about a thread has the contents of the delta, and a miss is never zero.
func TestThreadsOfTheReader(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		w, r := own(t, rdb), NewReader(rdb)
		w.apply(t, small("u", "c", 7, 1), inThread(reading(small("u", "c", 5, 1), "m4", 4, t0), "t"))
		if _, err := r.Threads(t.Context(), "u"); !errors.Is(err, ErrMiss) {
			t.Errorf("without the epoch: %v, want ErrMiss", err)
		}
		if _, err := r.ThreadRead(t.Context(), "u", "t"); !errors.Is(err, ErrMiss) {
			t.Errorf("pointer without the epoch: %v, want ErrMiss", err)
		}
		rdb.Set(t.Context(), epochKey, formatOf(rdb).String()+"e", 0)
		got, err := r.Threads(t.Context(), "u")
		want := []Entry{{
			ChannelID: "c", ThreadID: "t", Known: true, Unread: 5, Mentions: 1, FirstUnreadID: "m1", LastReadSeq: 4, LatestSeq: 5,
			LatestAt: time.UnixMilli(t0 + 5).UTC(), TouchedAt: time.UnixMilli(t0 + 5).UTC(), ReadEpoch: 1, Stamp: stampOf(5, 1),
		}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("threads %+v, %v; want %+v", got, err, want)
		}
		if p, err := r.ThreadRead(t.Context(), "u", "t"); err != nil || p != (ThreadRead{"m4", time.UnixMilli(t0).UTC()}) {
			t.Errorf("pointer %+v, %v", p, err)
		}
		if _, err := r.ThreadRead(t.Context(), "u", "other"); !errors.Is(err, ErrMiss) {
			t.Errorf("pointer of a thread that was not read: %v, want ErrMiss", err)
		}
		w.apply(t, inThread(reading(small("u", "c", 6, 2), "m5", 5, 0), "with its channel"))
		if p, err := r.ThreadRead(t.Context(), "u", "with its channel"); err != nil || p != (ThreadRead{MessageID: "m5"}) {
			t.Errorf("pointer without a time %+v, %v", p, err)
		}
		if none, err := r.Threads(t.Context(), "nobody"); err != nil || len(none) != 0 {
			t.Errorf("threads of nobody: %v, %v", none, err)
		}
		for field, value := range map[string]string{"c": "{}", "c\x00x": "garbage"} {
			rdb.HSet(t.Context(), InboxThreadsKey("v"), field, value)
			if _, err := r.Threads(t.Context(), "v"); err == nil || !strings.Contains(err.Error(), "inbox-threads:v") {
				t.Errorf("field %q: %v, want an error that names the key", field, err)
			}
			rdb.Del(t.Context(), InboxThreadsKey("v"))
		}
	})
}
