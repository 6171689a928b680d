package museum

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/queryv1"
)

// Redis is milliseconds behind the fold, so the checks below read it until it equals the answer of
// the query service.

// cached compares a user's channel in Redis with the answer: its entry in the inbox, the read
// pointer and the channel's head.
func (l *tale) cached(q *question, u *queryv1.ChannelUnread) {
	l.t.Helper()
	saw, ok := eventually(func() (bool, string) {
		diff := l.entryDiff(q, u)
		if diff == "" {
			diff = l.pointerDiff(q, u)
		}
		if diff == "" {
			diff = l.latestDiff(q, u)
		}
		return diff == "", diff
	})
	if !ok {
		l.t.Errorf("%s: GetUnread says\n    %v\n  but Redis still says\n    %s", l.name, u, saw)
	}
}

func (l *tale) entryDiff(q *question, u *queryv1.ChannelUnread) string {
	e, err := l.site.reader.Unread(context.Background(), q.wireUser, q.wireC)
	if !u.Member {
		if !errors.Is(err, cache.ErrMiss) {
			return fmt.Sprintf("inbox of one who is no member: %+v, %v", e, err)
		}
		return ""
	}
	if err != nil {
		return err.Error()
	}
	if e.Large { // the channel's key has the head
		e.FirstUnreadID, e.LatestSeq = u.FirstUnread.GetMessageId(), u.Latest.GetSeq()
	}
	if !e.Known || e.Unread != u.Unread || e.Mentions != u.Mentions || e.OfflineUnread != u.OfflineUnread ||
		e.FirstUnreadID != u.FirstUnread.GetMessageId() || e.LastReadSeq != u.LastRead.GetSeq() || e.LatestSeq != u.Latest.GetSeq() ||
		e.Muted != u.Muted || e.ReadEpoch != u.ReadEpoch || stamp(u.Latest.GetAt()) != cachedAt(e) {
		return fmt.Sprintf("inbox: %+v", e)
	}
	return ""
}

func (l *tale) pointerDiff(q *question, u *queryv1.ChannelUnread) string {
	p, err := l.site.reader.ReadPointer(context.Background(), q.wireUser, q.wireC)
	if u.LastRead == nil {
		if !errors.Is(err, cache.ErrMiss) {
			return fmt.Sprintf("read-pointer of one who has read nothing: %+v, %v", p, err)
		}
		return ""
	}
	if err != nil || p.MessageID != u.LastRead.MessageId || p.Seq != u.LastRead.Seq || p.At.UnixMilli() != u.LastRead.At.AsTime().UnixMilli() {
		return fmt.Sprintf("read-pointer: %+v, %v", p, err)
	}
	return ""
}

func (l *tale) latestDiff(q *question, u *queryv1.ChannelUnread) string {
	c, err := l.site.reader.Channel(context.Background(), q.wireC)
	if err != nil {
		return err.Error()
	}
	if c.LatestID != u.Latest.GetMessageId() || c.LatestSender != u.Latest.GetSenderId() || c.LatestPreview != u.Latest.GetPreview() {
		return fmt.Sprintf("channel-latest: %+v", c)
	}
	return ""
}

// cachedGone fails the test if Redis still has something of a channel that does not exist.
func (l *tale) cachedGone(q *question) {
	l.t.Helper()
	saw, ok := eventually(func() (bool, string) {
		n, err := l.site.rdb.Exists(context.Background(), cache.ChannelLatestKey(q.wireC), cache.ReadPointerKey(q.wireUser, q.wireC)).Result()
		if err != nil || n != 0 {
			return false, fmt.Sprintf("%d keys, %v", n, err)
		}
		in, err := l.site.rdb.HExists(context.Background(), cache.InboxKey(q.wireUser), q.wireC).Result()
		return err == nil && !in, fmt.Sprintf("in the inbox: %t, %v", in, err)
	})
	if !ok {
		l.t.Errorf("%s: there is no #%s, but in Redis there is: %s", l.name, q.channel, saw)
	}
}

// cachedTotals compares the totals and the badge, for channels and threads.
func (l *tale) cachedTotals(q *question, in *queryv1.GetInboxResponse) {
	l.t.Helper()
	want := in.Totals
	saw, ok := eventually(func() (bool, string) {
		v, err := l.site.reader.View(context.Background(), q.wireUser)
		if errors.Is(err, cache.ErrMiss) {
			return len(in.Channels) == 0, err.Error()
		}
		if err != nil {
			return false, err.Error()
		}
		t := v.Totals
		same := t.Unread == uint64(want.Unread) && t.Mentions == uint64(want.Mentions) && t.UnreadChannels == int(want.UnreadChannels) &&
			t.ThreadUnread == uint64(want.ThreadUnread) && t.ThreadMentions == uint64(want.ThreadMentions) && t.Unknown == 0 &&
			len(v.Channels) == len(in.Channels)
		return same, fmt.Sprintf("%d channels, %+v", len(v.Channels), t)
	})
	if !ok {
		l.t.Errorf("%s: GetInbox says %d channels, %v, but Redis still %s", l.name, len(in.Channels), want, saw)
	}
}

// cachedThread compares a listed thread.
func (l *tale) cachedThread(q *question, th *queryv1.ThreadUnread) {
	l.t.Helper()
	saw, ok := eventually(func() (bool, string) {
		threads, err := l.site.reader.Threads(context.Background(), q.wireUser)
		if err != nil {
			return false, err.Error()
		}
		at := slices.IndexFunc(threads, func(e cache.Entry) bool { return e.ChannelID == q.wireC && e.ThreadID == q.thread })
		if at < 0 {
			return false, fmt.Sprintf("it is not among %d threads", len(threads))
		}
		e := threads[at]
		same := e.Known && e.Unread == th.Unread && e.Mentions == th.Mentions && e.FirstUnreadID == th.FirstUnread.GetMessageId() &&
			e.LastReadSeq == th.LastRead.GetSeq() && e.ReadEpoch == th.ReadEpoch && e.LatestSeq == th.LastReply.GetSeq()
		return same, fmt.Sprintf("%+v", e)
	})
	if !ok {
		l.t.Errorf("%s: GetThreads says\n    %v\n  but inbox-threads still\n    %s", l.name, th, saw)
	}
}

// showKey returns the content of a key, one line for each field, with the names of the story. It
// waits until the content is as expected.
func (l *tale) showKey(key, expected string) string {
	l.t.Helper()
	parts := strings.Split(key, ":")
	for i, name := range parts[1:] {
		if w, ok := l.wire["#"+name]; ok && (i > 0 || parts[0] == "channel-latest") {
			parts[i+1] = w
		} else if w, ok := l.wire[name]; ok {
			parts[i+1] = w
		}
	}
	wire := strings.Join(parts, ":")
	if l.rewrite {
		time.Sleep(5 * time.Second) // with -rewrite there is no expected content to wait for
	}
	saw, _ := eventually(func() (bool, string) {
		saw := l.plain(l.fields(wire))
		return l.isExpected(saw, expected), saw
	})
	return saw
}

// stamped matches the fold version of a stamp, which stories write as V because new rules change it
// alone.
var stamped = regexp.MustCompile(`"stamp":"\d+\.`)

func (l *tale) fields(key string) string {
	hash, err := l.site.rdb.HGetAll(context.Background(), key).Result()
	if err != nil {
		return err.Error()
	}
	if len(hash) == 0 {
		return key + ": no such key"
	}
	var out []string
	for field, value := range hash {
		value = stamped.ReplaceAllString(value, `"stamp":"V.`)
		out = append(out, fmt.Sprintf("%s %s = %s", key, strings.ReplaceAll(field, "\x00", " 0x00 "), value))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func stamp(at *timestamppb.Timestamp) int64 {
	if at == nil {
		return 0
	}
	return at.AsTime().UnixMilli()
}

func cachedAt(e cache.Entry) int64 {
	if e.LatestAt.IsZero() {
		return 0
	}
	return e.LatestAt.UnixMilli()
}

// fence returns once the test has read all earlier deltas of a user. Another user, whose deltas are
// in the same partition, mutes the channel, and fence waits for that delta.
func (l *tale) fence(q *question) {
	l.t.Helper()
	who := ""
	for i := 0; ; i++ {
		who = fmt.Sprintf("fence%d", i)
		if events.PartitionOf([]byte(l.wireUser(who)), partitions) == events.PartitionOf([]byte(q.wireUser), partitions) {
			break
		}
	}
	key := string(events.AppendUnreadKey(nil, []byte(l.wireUser(who)), []byte(q.wireC), nil))
	_, before := l.site.published.about(key)
	verb := []string{"mutes", "unmutes"}[before%2]
	l.event(fmt.Sprintf("%s %s #%s", who, verb, q.channel))
	l.publish()
	if saw, ok := eventually(func() (bool, string) {
		_, n := l.site.published.about(key)
		return n > before, fmt.Sprintf("%d deltas of %s", n, who)
	}); !ok {
		l.t.Fatalf("%s: nothing was published for a fence: %s", l.name, saw)
	}
}
