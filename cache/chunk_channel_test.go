package cache

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

func unreadTombstone(user, channel string) *kgo.Record {
	return &kgo.Record{Topic: events.TopicUnread, Key: events.AppendUnreadKey(nil, []byte(user), []byte(channel), nil)}
}

func head(channel string, m int64, seq uint32) *events.ChannelRecord {
	return &events.ChannelRecord{
		ChannelID: []byte(channel), HeadSeq: seq, HeadPos: seq - 1, MemberCount: 3, Stamp: events.Stamp{FoldVersion: 1, M: m},
		Latest: events.Head{MessageID: []byte("m7"), Seq: 7, Pos: 6, At: t0, SenderID: []byte("ann"), Preview: []byte("two\nlines")},
		Holes:  []uint32{3, 7, 8, 9}, HolesFloor: 2, Alls: []uint32{5}, AllsFloor: 1, PurgedPos: 4,
	}
}

func TestChannelKeysByteForByte(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		updated := head("c:1", 12, 11)
		updated.Labels, updated.Archived = [][]byte{[]byte("a"), []byte(`b"c`)}, true
		if n := w.applyChannels(t, updated, &events.ChannelRecord{ChannelID: []byte("empty"), MemberCount: 2, Stamp: events.Stamp{FoldVersion: 1, M: 1}}); n != 2 {
			t.Errorf("applied %d of 2", n)
		}
		equalDump(t, rdb, map[string]string{
			"channel-latest:c%3A1 latest_id": "m7", "channel-latest:c%3A1 latest_at": "2026-01-02T03:04:05.678Z",
			"channel-latest:c%3A1 latest_sender": "ann", "channel-latest:c%3A1 latest_preview": "two\nlines",
			"channel-latest:c%3A1 message_seq": "11", "channel-latest:c%3A1 message_pos": "10",
			"channel-latest:c%3A1 holes": "3,7-9", "channel-latest:c%3A1 holes_floor": "2",
			"channel-latest:c%3A1 alls": "5", "channel-latest:c%3A1 alls_floor": "1",
			"channel-latest:c%3A1 purged_pos": "4", "channel-latest:c%3A1 member_count": "3",
			"channel-latest:c%3A1 labels": `["a","b\"c"]`, "channel-latest:c%3A1 archived": "true",

			"channel-latest:empty latest_id": "", "channel-latest:empty latest_at": "",
			"channel-latest:empty latest_sender": "", "channel-latest:empty latest_preview": "",
			"channel-latest:empty message_seq": "0", "channel-latest:empty message_pos": "0",
			"channel-latest:empty holes": "", "channel-latest:empty holes_floor": "0",
			"channel-latest:empty alls": "", "channel-latest:empty alls_floor": "0",
			"channel-latest:empty purged_pos": "0", "channel-latest:empty member_count": "2",
			"channel-latest:empty labels": "[]", "channel-latest:empty archived": "false",
		})
	})
}

func TestChannelStamps(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		seq := func(want string) {
			t.Helper()
			if got := fieldsOf(t, rdb, "channel-latest:c")["message_seq"]; got != want {
				t.Errorf("message_seq %q, want %q", got, want)
			}
		}
		deleted := &events.ChannelRecord{ChannelID: []byte("c"), Deleted: true, Stamp: events.Stamp{FoldVersion: 1, M: 20}}
		for _, c := range []struct {
			r       *events.ChannelRecord
			applied int
			want    string
		}{
			{head("c", 9, 5), 1, "5"}, {head("c", 9, 5), 0, "5"}, {head("c", 8, 4), 0, "5"}, {head("c", 10, 6), 1, "6"},
			{deleted, 1, ""}, {head("c", 10, 6), 0, ""}, {deleted, 0, ""},
		} {
			if n := w.applyChannels(t, c.r); n != c.applied {
				t.Errorf("m = %d: applied %d, want %d", c.r.Stamp.M, n, c.applied)
			}
			seq(c.want)
		}
		if ttl := rdb.TTL(t.Context(), "channel-stamp:c").Val(); ttl <= 23*time.Hour {
			t.Errorf("the stamp of a deleted channel is kept for %v, want 24 h", ttl)
		}
		// Both in one batch give the same result.
		if n := w.applyChannels(t, head("d", 9, 5), head("d", 8, 4)); n != 1 {
			t.Errorf("applied %d, want 1", n)
		}
		if got := fieldsOf(t, rdb, "channel-latest:d")["message_seq"]; got != "5" {
			t.Errorf("message_seq %q, want 5", got)
		}
	})
}

func TestChannelTombstone(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		w.applyChannels(t, head("c", 9, 5))
		w.send(t, w.join(new(batch), &kgo.Record{Topic: events.TopicChannels, Key: []byte("c")}))
		rdb.Del(t.Context(), ownersKey, w.marks)
		if keys := rdb.Keys(t.Context(), "*").Val(); len(keys) > 0 {
			t.Errorf("left: %v", keys)
		}
	})
}
