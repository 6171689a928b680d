package cache

import (
	"cmp"
	"context"
	"errors"
	"net"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/events"
)

// large returns a delta of a member of a large channel.
func large(user, channel string, readPos uint32) *events.UnreadDelta {
	return &events.UnreadDelta{
		UserID: []byte(user), ChannelID: []byte(channel), Member: true, Large: true, ReadPos: readPos, ReadEpoch: 1, Stamp: stampOf(9, 1),
	}
}

// trips counts the round trips of a client.
type trips struct{ n atomic.Int64 }

func (c *trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmds)
	}
}

func TestInboxInTwoRoundTrips(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		w := own(t, rdb)
		d := large("u", "big", 10)
		d.Excluded, d.Mentioned = []uint32{12}, []uint32{14}
		muted := small("u", "muted", 30, 1)
		muted.Muted = true
		behind := large("u", "behind", 1)
		w.apply(t, small("u", "c", 7, 3), small("u", "read", 0, 3), d, muted, large("u", "lost", 1), behind)
		behindHead := head("behind", 9, 21)
		behindHead.PurgedPos = 0  // so that the floors, 2 and 1, are above the read positions
		big := head("big", 9, 21) // positions to 20, holes 3,7-9
		big.HeadPos, big.Holes, big.Alls = 20, []uint32{11}, []uint32{13}
		w.applyChannels(t, big, behindHead)

		count := new(trips)
		counted := redisClient(t, "redis://"+rdb.Options().Addr)
		if err := counted.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		counted.AddHook(count)
		r := NewReader(counted)
		if _, _, err := r.Inbox(t.Context(), "u"); !errors.Is(err, ErrMiss) {
			t.Errorf("without the epoch: %v, want ErrMiss", err)
		}
		rdb.Set(t.Context(), epochKey, formatOf(rdb).String()+"e", 0)

		count.n.Store(0)
		entries, totals, err := r.Inbox(t.Context(), "u")
		if err != nil {
			t.Fatal(err)
		}
		if n := count.n.Load(); n != 2 {
			t.Errorf("%d round trips, want 2", n)
		}
		slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.ChannelID, b.ChannelID) })
		var got []string
		for _, e := range entries {
			switch {
			case !e.Known:
				got = append(got, e.ChannelID+" unknown")
			default:
				got = append(got, e.ChannelID+" "+string(entry.AppendUint(nil, e.Unread))+"/"+string(entry.AppendUint(nil, e.Mentions)))
			}
		}
		// big: 11..20 but for 11 and 12; mentions 13 and 14.
		if want := []string{"behind unknown", "big 8/2", "c 7/1", "lost unknown", "muted 30/1", "read 0/1"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if want := (Totals{Unread: 15, Mentions: 4, UnreadChannels: 2, Badge: 15, Unknown: 2}); totals != want {
			t.Errorf("totals %+v, want %+v", totals, want)
		}
		if at := entries[1].LatestAt; !at.Equal(time.UnixMilli(t0)) {
			t.Errorf("latest of the large channel at %v", at)
		}
	})
}

func TestUnreadOfALargeChannel(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		rdb.Set(ctx, epochKey, formatOf(rdb).String()+"e", 0)
		w := own(t, rdb)
		r := NewReader(rdb)
		w.apply(t, large("u", "c", 10))
		e, err := r.Unread(ctx, "u", "c")
		if err != nil || e.Known {
			t.Errorf("without the channel's record: %+v, %v; want not known", e, err)
		}
		rec := head("c", 7, 16)
		w.applyChannels(t, rec)
		e, err = r.Unread(ctx, "u", "c")
		if err != nil || !e.Known || e.Unread != 5 {
			t.Errorf("got %+v, %v; want 5 unread", e, err)
		}
	})
}

// A reader's answer about a small channel has the contents of the delta.
func TestEntryIsTheDelta(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		rdb.Set(t.Context(), epochKey, formatOf(rdb).String()+"e", 0)
		d := reading(small("u", "c", 7, 3), "m4", 4, t0)
		d.OfflineUnread, d.Muted, d.ReadEpoch = 2, true, 3
		own(t, rdb).apply(t, d)
		got, err := NewReader(rdb).Unread(t.Context(), "u", "c")
		if err != nil {
			t.Fatal(err)
		}
		want := Entry{
			ChannelID: "c", Known: true, Unread: 7, Mentions: 1, OfflineUnread: 2, FirstUnreadID: "m1", LastReadSeq: 4,
			LatestSeq: 7, LatestAt: time.UnixMilli(t0 + 7).UTC(), Muted: true, Levels: events.Levels{Level: events.LevelNone}, ReadEpoch: 3, Stamp: stampOf(7, 3),
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}
