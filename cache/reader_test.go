package cache

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestMissesAreNeverZero(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		r := NewReader(rdb)
		miss := func(name string) {
			t.Helper()
			if _, _, err := r.Inbox(ctx, "u"); !errors.Is(err, ErrMiss) {
				t.Errorf("%s: Inbox: %v", name, err)
			}
			if _, err := r.Unread(ctx, "u", "c"); !errors.Is(err, ErrMiss) {
				t.Errorf("%s: Unread: %v", name, err)
			}
			if _, err := r.Channel(ctx, "c"); !errors.Is(err, ErrMiss) {
				t.Errorf("%s: Channel: %v", name, err)
			}
			if _, err := r.ReadPointer(ctx, "u", "c"); !errors.Is(err, ErrMiss) {
				t.Errorf("%s: ReadPointer: %v", name, err)
			}
		}
		miss("empty Redis")
		rdb.Set(ctx, epochKey, formatOf(rdb).String()+"e", 0)
		miss("nothing of the user")
		w := own(t, rdb)
		w.apply(t, reading(small("u", "c", 7, 3), "m4", 4, t0))
		w.applyChannels(t, head("c", 7, 9))
		e, err := r.Unread(ctx, "u", "c")
		if err != nil || e.Unread != 7 || !e.Known || e.ChannelID != "c" {
			t.Errorf("Unread: %+v, %v", e, err)
		}
		p, err := r.ReadPointer(ctx, "u", "c")
		if want := (ReadPointer{MessageID: "m4", Seq: 4, At: time.UnixMilli(t0).UTC()}); err != nil || p != want {
			t.Errorf("ReadPointer: %+v, %v; want %+v", p, err, want)
		}
		c, err := r.Channel(ctx, "c")
		if err != nil || c.HeadSeq != 9 || c.LatestPreview != "two\nlines" {
			t.Errorf("Channel: %+v, %v", c, err)
		}
		rdb.Del(ctx, epochKey)
		miss("being filled")
	})
}

func TestReaderNamesWhatIsBroken(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		rdb.Set(ctx, epochKey, formatOf(rdb).String()+"e", 0)
		rdb.HSet(ctx, "inbox:u", "c", "garbage")
		rdb.HSet(ctx, "channel-latest:c", "latest_id", "m")
		r := NewReader(rdb)
		if _, _, err := r.Inbox(ctx, "u"); err == nil || errors.Is(err, ErrMiss) || !strings.Contains(err.Error(), `"inbox:u"`) || !strings.Contains(err.Error(), `"c"`) {
			t.Errorf("Inbox: %v", err)
		}
		if _, err := r.Channel(ctx, "c"); err == nil || errors.Is(err, ErrMiss) || !strings.Contains(err.Error(), map[bool]string{false: "latest_sender", true: "WRONGTYPE"}[formatOf(rdb).Packed]) {
			t.Errorf("Channel: %v", err)
		}
		rdb.Set(ctx, "inbox:v", "a string", 0)
		if _, _, err := r.Inbox(ctx, "v"); err == nil || errors.Is(err, ErrMiss) || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("Inbox of a wrong type: %v", err)
		}
	})
}
