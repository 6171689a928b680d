package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// filled returns a Redis as the cache role would fill it, with small channels only.
func filled(t *testing.T, tr *checker.Log) *miniredis.Miniredis {
	t.Helper()
	m := testkit.Miniredis(t)
	if err := m.Set("tidemark:epoch", "4/1"); err != nil {
		t.Fatal(err)
	}
	for _, user := range tr.Users {
		for _, channel := range tr.Channels() {
			fillThreads(m, tr, user, channel)
			v, ok := tr.View(user, channel)
			if !ok || !v.Member {
				continue
			}
			at := ""
			if v.Latest.Seq > 0 {
				at = instant(v.Latest.At)
			}
			m.HSet("inbox:"+user, channel, fmt.Sprintf(`{"unread":%d,"mentions":%d,"offline_unread":%d,"first_unread_id":%q,`+
				`"last_read_seq":%d,"read_pos":0,"excluded":"","mentioned":"","latest_seq":%d,"latest_at":%q,"large":false,`+
				`"muted":%t,"read_epoch":%d%s%s,"stamp":"2.%d.%d.%d"}`, v.Unread, v.Mentions, v.OfflineUnread, v.FirstUnread.MessageID, v.LastRead.Seq,
				v.Latest.Seq, at, v.Muted, v.ReadEpoch, mentioned(v.DirectMentions, v.FirstMention), level(&v), v.Stamp.M, v.Stamp.R, v.Stamp.D))
		}
	}
	return m
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// mentioned returns the fields of an entry about mentions by name: their number, and where the
// first one is.
func mentioned(direct uint32, first projections.Ref) (out string) {
	if direct > 0 {
		out = fmt.Sprintf(`,"direct_mentions":%d`, direct)
	}
	if first.Seq > 0 {
		out += fmt.Sprintf(`,"first_mention":{"message_id":%q,"seq":%d}`, first.MessageID, first.Seq)
	}
	return out
}

func level(v *projections.View) string {
	if v.Muted {
		return `,"level":"NONE"`
	}
	return ""
}

func fillThreads(m *miniredis.Miniredis, tr *checker.Log, user, channel string) {
	for _, thread := range tr.Model(channel).Threads(channel) {
		if v, ok := tr.Model(channel).Thread(user, channel, thread); ok && v.Member && v.Following && v.LastReply.Seq > 0 {
			m.HSet("inbox-threads:"+user, channel+"\x00"+thread, fmt.Sprintf(`{"unread":%d,"mentions":%d,"offline_unread":0,"first_unread_id":%q,`+
				`"last_read_seq":%d,"latest_seq":%d,"latest_at":%q,"read_epoch":%d%s,"touched_at":%q,"stamp":"2.%d.%d.%d"}`, v.Unread, v.Mentions,
				v.FirstUnread.MessageID, v.LastRead.Seq, v.LastReply.Seq, instant(v.LastReply.At), v.ReadEpoch, mentioned(v.DirectMentions, v.FirstMention),
				instant(v.TouchedAt), v.Stamp.M, v.Stamp.R, v.Stamp.D))
		}
	}
}

// aThread returns a thread that a user follows, and its entry in Redis.
func aThread(t *testing.T, m *miniredis.Miniredis) (user, field, value string) {
	t.Helper()
	for _, key := range m.Keys() {
		if user, ok := strings.CutPrefix(key, "inbox-threads:"); ok {
			fields, err := m.HKeys(key)
			if err != nil {
				t.Fatal(err)
			}
			return user, fields[0], m.HGet(key, fields[0])
		}
	}
	t.Fatal("nobody follows a thread")
	return "", "", ""
}

func TestWrongCacheIsFound(t *testing.T) {
	st := stage(t, projections.DefaultSettings(), 1000)
	key, _ := st.member(t)
	user, channel, _ := strings.Cut(key, "\x00")
	follower, thread, follow := aThread(t, filled(t, st.Log))
	changeThread := func(from, to string) func(*miniredis.Miniredis) {
		return func(m *miniredis.Miniredis) {
			m.HSet("inbox-threads:"+follower, thread, strings.Replace(m.HGet("inbox-threads:"+follower, thread), from, to, 1))
		}
	}
	change := func(field, value string) func(*miniredis.Miniredis) {
		return func(m *miniredis.Miniredis) {
			was := m.HGet("inbox:"+user, channel)
			before, rest, _ := strings.Cut(was, `"`+field+`":`)
			_, after, _ := strings.Cut(rest, ",")
			m.HSet("inbox:"+user, channel, before+`"`+field+`":`+value+","+after)
		}
	}
	for _, c := range []struct {
		name  string
		plant func(*miniredis.Miniredis)
		want  string
	}{
		{"nothing", func(*miniredis.Miniredis) {}, ""},
		{"not complete", func(m *miniredis.Miniredis) { m.Del("tidemark:epoch") }, "tidemark:epoch"},
		{"no inbox", func(m *miniredis.Miniredis) { m.Del("inbox:" + user) }, "is missing"},
		{"no channel", func(m *miniredis.Miniredis) { m.HDel("inbox:"+user, channel) }, "is missing"},
		{"another channel", func(m *miniredis.Miniredis) { m.HSet("inbox:"+user, "x", m.HGet("inbox:"+user, channel)) }, "which is no channel"},
		{"another user", func(m *miniredis.Miniredis) { m.HSet("inbox:x", channel, m.HGet("inbox:"+user, channel)) }, "there is no such user"},
		{"no member", func(m *miniredis.Miniredis) { m.HSet("inbox:stranger", channel, m.HGet("inbox:"+user, channel)) }, "is no member"},
		{"unread", change("unread", "999"), "should be"},
		{"mentions", change("mentions", "999"), "should be"},
		{"offline", change("offline_unread", "999"), "should be"},
		{"first", change("first_unread_id", `"x"`), "should be"},
		{"read", change("last_read_seq", "999"), "should be"},
		{"latest", change("latest_seq", "999"), "should be"},
		{"latest at", change("latest_at", `"2001-01-01T00:00:00.000Z"`), "should be"},
		{"large", change("large", "true"), "should be"},
		{"first mention", func(m *miniredis.Miniredis) {
			was := m.HGet("inbox:"+user, channel)
			m.HSet("inbox:"+user, channel, strings.Replace(was, `,"stamp"`, `,"first_mention":{"message_id":"x","seq":1},"stamp"`, 1))
		}, "should be"},
		{"level", func(m *miniredis.Miniredis) {
			was := m.HGet("inbox:"+user, channel)
			m.HSet("inbox:"+user, channel, strings.Replace(was, `,"stamp"`, `,"level":"MENTIONS","stamp"`, 1))
		}, "should be"},
		{"epoch", change("read_epoch", "999"), "should be"},
		{"stamp", func(m *miniredis.Miniredis) {
			was := m.HGet("inbox:"+user, channel)
			m.HSet("inbox:"+user, channel, strings.Replace(was, `"stamp":"2.`, `"stamp":"2.9`, 1))
		}, "ahead of the log"},
		{"no thread", func(m *miniredis.Miniredis) { m.HDel("inbox-threads:"+follower, thread) }, "in Redis false, followed true"},
		{"another thread", func(m *miniredis.Miniredis) { m.HSet("inbox-threads:"+follower, "x\x00y", follow) }, "which is no thread"},
		{"thread of another user", func(m *miniredis.Miniredis) { m.HSet("inbox-threads:x", thread, follow) }, "there is no such user"},
		{"unread in a thread", changeThread(`"unread":`, `"unread":9`), "want"},
		{"stamp of a thread", changeThread(`"stamp":"2.`, `"stamp":"2.9`), "want"},
	} {
		m := filled(t, st.Log)
		c.plant(m)
		cl := &cluster{t: t, redis: &testkit.RedisServer{URL: "redis://" + m.Addr()}}
		wantFound(t, c.name, cl.checkCached(st.Log), c.want)
	}
}
