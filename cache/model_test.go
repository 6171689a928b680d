package cache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/jsonw"
)

// history is a possible output of a fold: values of each key with growing stamps, in the order of
// the topic.
type history struct {
	records []*kgo.Record
	last    map[string]*events.UnreadDelta
	heads   map[string]*events.ChannelRecord
	m, r    int64
}

func newHistory() *history {
	return &history{last: map[string]*events.UnreadDelta{}, heads: map[string]*events.ChannelRecord{}}
}

// grow adds n records of this many users and channels.
func (h *history) grow(rng *rand.Rand, n, users, channels int) []*kgo.Record {
	from := len(h.records)
	for range n {
		h.m++
		c := "c" + strconv.Itoa(rng.IntN(channels))
		if rng.IntN(5) == 0 {
			rec := head(c, h.m, uint32(h.m)+1)
			rec.Deleted = rng.IntN(20) == 0
			h.heads[c] = rec
			h.records = append(h.records, channelRecord(rec))
			continue
		}
		u := "u" + strconv.Itoa(rng.IntN(users))
		d := small(u, c, h.m, 0)
		if rng.IntN(3) == 0 {
			inThread(d, "t-"+c+strconv.Itoa(rng.IntN(2)))
		}
		key := string(events.AppendUnreadKey(nil, d.UserID, d.ChannelID, d.ThreadID))
		if was := h.last[key]; was != nil {
			d.LastRead, d.LastReadAt, d.Stamp.R = was.LastRead, was.LastReadAt, was.Stamp.R
		}
		switch rng.IntN(6) {
		case 0:
			h.r++
			d.Stamp.R = h.r
			reading(d, "m"+strconv.FormatInt(h.m, 10), uint32(h.m), t0+h.m)
		case 1:
			h.r++
			d.Stamp.R = h.r
			d.LastRead = events.Ref{}
		case 2:
			d.Member, d.Unread, d.Mentions, d.FirstUnread, d.Latest = false, 0, 0, events.Ref{}, events.Head{}
		case 3:
			if len(d.ThreadID) > 0 {
				break
			}
			d.Large, d.Unread, d.FirstUnread, d.Latest, d.ReadPos = true, 0, events.Ref{}, events.Head{}, uint32(h.m)
		}
		h.last[key] = d
		h.records = append(h.records, unreadRecord(d))
	}
	return h.records[from:]
}

// want returns the content of Redis after the whole history.
func (h *history) want() map[string]string {
	out := map[string]string{}
	for _, d := range h.last {
		if len(d.ThreadID) > 0 {
			h.wantThread(out, d)
			continue
		}
		if d.Member {
			out["inbox:"+string(d.UserID)+" "+string(d.ChannelID)] = string(entry.AppendValue(nil, d))
		}
		if d.LastRead.Seq > 0 {
			key := "read-pointer:" + string(d.UserID) + ":" + string(d.ChannelID) + " "
			out[key+"last_read_id"] = string(d.LastRead.MessageID)
			out[key+"last_read_at"] = string(jsonw.AppendTime(nil, d.LastReadAt))
			out[key+"last_read_seq"] = strconv.Itoa(int(d.LastRead.Seq))
		}
	}
	for id, c := range h.heads {
		if c.Deleted {
			continue
		}
		for f, v := range map[string]string{
			"latest_id": "m7", "latest_at": "2026-01-02T03:04:05.678Z", "latest_sender": "ann", "latest_preview": "two\nlines",
			"message_seq": fmt.Sprint(c.HeadSeq), "message_pos": fmt.Sprint(c.HeadPos), "holes": "3,7-9", "holes_floor": "2",
			"alls": "5", "alls_floor": "1", "purged_pos": "4", "member_count": "3", "labels": "[]", "archived": "false",
		} {
			out["channel-latest:"+id+" "+f] = v
		}
	}
	return out
}

func (h *history) wantThread(out map[string]string, d *events.UnreadDelta) {
	if d.Member {
		out["inbox-threads:"+string(d.UserID)+" "+string(d.ChannelID)+"\x00"+string(d.ThreadID)] = string(entry.AppendValue(nil, d))
	}
	if d.LastRead.Seq > 0 {
		key := "thread-read:" + string(d.UserID) + ":" + string(d.ThreadID) + " "
		out[key+"last_read_id"] = string(d.LastRead.MessageID)
		out[key+"last_read_at"] = string(jsonw.AppendTime(nil, d.LastReadAt))
	}
}

// check fails unless Redis has exactly the final values of the history.
func (h *history) check(t testing.TB, rdb redis.UniversalClient) {
	t.Helper()
	got, want := dump(t, rdb), h.want()
	if maps.Equal(got, want) {
		return
	}
	shown := 0
	for k, v := range want {
		if got[k] != v && shown < 10 {
			shown++
			t.Errorf("%s:\n got %q\nwant %q", k, got[k], v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok && shown < 10 {
			shown++
			t.Errorf("%s: unexpected %q", k, v)
		}
	}
}

// await waits until Redis has the final values of the history.
func (h *history) await(t testing.TB, rdb redis.UniversalClient) {
	t.Helper()
	want := h.want()
	eventually(t, "Redis holds the end of the history", func() bool { return maps.Equal(dump(t, rdb), want) })
}

// seeded is a source of randomness that prints its seed if the test fails.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// Any suffix may come again, in batches cut anywhere, from one owner after the other, even in
// another order. Redis ends with the values that dominate.
func TestRepeatedAndReorderedSuffixes(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		rng := seeded(t)
		for range 8 {
			rdb.FlushAll(t.Context())
			h := newHistory()
			w := own(t, rdb)
			w.cold = rng.IntN(2) == 0
			var b batch
			send := func(records []*kgo.Record) {
				for len(records) > 0 {
					n := 1 + rng.IntN(len(records))
					w.send(t, w.join(&b, records[:n]...))
					if rng.IntN(4) == 0 { // the partition moves to another member
						cold := w.cold
						w = own(t, rdb)
						w.cold = cold
					}
					records = records[n:]
				}
			}
			send(h.grow(rng, 200, 4, 5))
			h.check(t, rdb)
			for range 4 {
				send(h.records[rng.IntN(len(h.records)):])
				h.check(t, rdb)
			}
			shuffled := append([]*kgo.Record(nil), h.records...)
			rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			rdb.FlushAll(t.Context())
			w = own(t, rdb)
			send(shuffled)
			h.check(t, rdb)
		}
	})
}
