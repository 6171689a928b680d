package museum

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

// The stories of package model's testdata are about DESIGN §4.7: its rules, and in testdata/museum
// one request of a product's users each. The tests of the model and of the fold run them. Here they
// run on a whole Tidemark, which must give the same answers.

// wishes are the files of the stories.
func wishes(t *testing.T) (list []string) {
	t.Helper()
	for _, pattern := range []string{"../model/testdata/*.txt", "../model/testdata/museum/*.txt"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < 10 {
			t.Fatalf("%d stories in %s: %v", len(found), pattern, err)
		}
		list = append(list, found...)
	}
	return list
}

// TestThreadsThatStay: nodes with --thread-listing always never take a thread off the panel.
func TestThreadsThatStay(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSiteOf(t, env, true)
		s.sockets = newSockets(t, s)
		tellWishes(t, s, "../model/testdata/museum/threads-that-stay.txt")
	})
}

// tellWishes runs the stories of a file, except those that need other settings than the site has.
func tellWishes(t *testing.T, s *site, file string) {
	base := strings.TrimSuffix(strings.TrimPrefix(file, "../model/testdata/"), ".txt")
	t.Run("wish/"+base, func(t *testing.T) {
		n := 0
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			n++
			if len(d.CmdArgs) > 0 {
				return d.Expected
			}
			daysPass := strings.Contains(d.Input, "wait ") || strings.Contains(d.Input, "d+0:")
			if daysPass {
				d.CmdArgs = append(d.CmdArgs, datadriven.CmdArg{Key: "alone"})
			}
			l := newTale(t, s, fmt.Sprintf("wish-%s.%d", base, n), d)
			if daysPass {
				l.shift = -(2 * 365 * 24 * time.Hour).Milliseconds() // brokers refuse records from the future
			}
			l.wish(strings.Split(d.Input, "\n"))
			return d.Expected
		})
	})
}

// wish runs a story and compares each answer with the file's.
func (l *tale) wish(lines []string) {
	l.t.Helper()
	now := int64(script.Start)
	for _, line := range lines {
		asked, isQuestion := strings.CutPrefix(strings.TrimSpace(line), "?")
		if !isQuestion {
			l.event(strings.TrimSpace(line))
			for i := range l.pending {
				now = l.pending[i].Timestamp
			}
			continue
		}
		l.publish()
		saw, ok := l.granted(strings.Fields(asked), now)
		want := l.expected
		if ok {
			want = want[:min(strings.Count(saw, "\n")+1, len(want))]
			if a, b := alike(saw), alike(strings.Join(want, "\n")); a != b {
				l.t.Errorf("%s: ?%s: the site answers\n    %s\nand the model\n    %s", l.name, asked, a, b)
			}
		}
		l.expected = l.expected[max(len(want[:min(1, len(want))]), strings.Count(saw, "\n")+1):]
	}
	l.publish()
	l.pushedAll()
}

// The model has more than the answers: that a channel was filed, even after news; the topic of the
// event that set the pointer; and the half of a line that the user did not state.
var quoted = regexp.MustCompile(` \| filed( for good| up to position \d+)?| by chat\.\w+/\d+| by ".*"| \| line under [^|]*`)

func alike(text string) string { return strings.TrimSpace(quoted.ReplaceAllString(text, "")) }

// granted answers a question as of a time. ok is false if a site cannot answer it.
func (l *tale) granted(words []string, now int64) (text string, ok bool) {
	l.t.Helper()
	option := func(name string) (value string) {
		if i := slices.Index(words, name); i >= 0 && i+1 < len(words) {
			value = words[i+1]
			words = slices.Delete(slices.Clone(words), i, i+2)
		}
		return value
	}
	verb := words[0]
	switch {
	case verb == "to", slices.Contains(words, "always") != l.site.always && verb == "totals": // MarkAllRead is not a question
		return "", false
	case verb == "totals":
		label, at := option("label"), option("at")
		if at != "" {
			var err error
			if now, err = script.ParseTime(at); err != nil {
				l.t.Fatal(err)
			}
		}
		q := l.parse(slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return w == "always" }))
		return l.showTotals(&q, label, now), true
	case verb == "mentions":
		q := l.parse(words[1:])
		return l.showMentions(&q), true
	case verb == "line":
		q := l.parse(words[1:])
		u := l.unread(&q)
		return fmt.Sprintf("%s: line under %q, seq %d", q.user, u.Line.GetMessageId(), u.Line.GetSeq()), true
	}
	q := l.parse(words)
	switch q.verb {
	case "receipts":
		return l.showViewers(&q), true
	case "readers":
		return l.readersText(&q), true
	case "threads":
		return l.showThreads(&q), true
	case "explain":
		return l.showExplanation(&q), true
	case "channel":
		return l.showChannel(&q), true
	}
	if q.thread != "" {
		text := l.showThread(&q)
		return text, !strings.Contains(text, "not listed") // only the model has threads that are not listed
	}
	return l.showAll(&q), true
}

// unread calls GetUnread as of time 0, so that levels are as the user set them.
func (l *tale) unread(q *question) *queryv1.ChannelUnread {
	l.t.Helper()
	return asked(l, l.site.query.GetUnread, &queryv1.GetUnreadRequest{UserId: q.wireUser, ChannelId: q.wireC, After: l.after,
		EvaluatedAt: timestamppb.New(time.UnixMilli(script.Start + l.shift))})
}

// showAll returns a user's whole view of a channel, with what is hidden from them.
func (l *tale) showAll(q *question) string {
	l.t.Helper()
	u := l.unread(q)
	x := asked(l, l.site.query.ExplainUnread, &queryv1.ExplainUnreadRequest{UserId: q.wireUser, ChannelId: q.wireC, After: l.after})
	l.explained(q, x, u.Unread, u.FirstUnread, u.LastRead)
	l.pushed(q.wireUser)
	v := projections.View{
		UserID: q.user, ChannelID: q.channel, Member: u.Member, Unread: u.Unread, Mentions: u.Mentions, OfflineUnread: u.OfflineUnread,
		FirstUnread: refOf(u.FirstUnread), LastRead: lastRead(u.LastRead), LastReadAt: l.when(u.LastRead.GetAt()), ReadEpoch: u.ReadEpoch,
		Muted: u.Muted, Level: events.Level(u.Level), LevelAfter: events.Level(u.LevelAfter), IgnoreAll: u.IgnoreMentionAll,
		Flagged: u.Flagged, Labels: u.OwnLabels, Line: refOf(u.Line),
	}
	if u.Until != nil {
		v.Until = l.when(u.Until)
	}
	return strings.TrimSpace(script.FormatView(&v) + " " + script.FormatHidden(&projections.Explanation{Excluded: projections.Excluded{Hidden: x.Excluded.GetHidden()}}))
}

// showMentions returns how many of the mentions name the user.
func (l *tale) showMentions(q *question) string {
	l.t.Helper()
	if q.thread == "" {
		u := l.unread(q)
		return script.FormatMentions(q.user, u.Mentions, u.DirectMentions, refOf(u.FirstMention))
	}
	for _, th := range l.threads(q).Threads {
		if th.ChannelId == q.wireC && th.ThreadId == q.thread {
			return script.FormatMentions(q.user+" in thread "+q.thread, th.Mentions, th.DirectMentions, refOf(th.FirstMention))
		}
	}
	return fmt.Sprintf("%s in thread %s: not listed", q.user, q.thread)
}

// showTotals returns the totals of a user's channels as of a time. Redis must have the same.
func (l *tale) showTotals(q *question, label string, now int64) string {
	l.t.Helper()
	at := time.UnixMilli(now + l.shift)
	in := asked(l, l.site.query.GetInbox, &queryv1.GetInboxRequest{UserId: q.wireUser, PageSize: 1, After: l.after, EvaluatedAt: timestamppb.New(at)})
	of := in.Totals
	if label != "" {
		of = in.TotalsByLabel[label]
	}
	t := model.Totals{
		Badge: of.GetBadge(), Unread: of.GetUnread(), Mentions: of.GetMentions(), UnreadChannels: of.GetUnreadChannels(),
		ThreadUnread: of.GetThreadUnread(), ThreadMentions: of.GetThreadMentions(), UnreadThreads: of.GetUnreadThreads(),
		Flagged: of.GetFlagged(), ArchivedChannels: of.GetArchived().GetUnreadChannels(), ArchivedMentions: of.GetArchived().GetMentions(),
	}
	text := script.FormatTotals(q.user, &t)
	saw, ok := eventually(func() (bool, string) {
		v, err := l.site.reader.At(at).View(context.Background(), q.wireUser)
		if err != nil {
			return errors.Is(err, cache.ErrMiss) && len(in.Channels) == 0, err.Error()
		}
		r := v.Totals
		if label != "" {
			r = v.TotalsByLabel[label]
		}
		cached := model.Totals{
			Badge: uint32(r.Badge), Unread: uint32(r.Unread), Mentions: uint32(r.Mentions), UnreadChannels: uint32(r.UnreadChannels),
			ThreadUnread: uint32(r.ThreadUnread), ThreadMentions: uint32(r.ThreadMentions), UnreadThreads: uint32(r.UnreadThreads),
			Flagged: uint32(r.Flagged), ArchivedChannels: uint32(r.ArchivedChannels), ArchivedMentions: uint32(r.ArchivedMentions),
		}
		saw := script.FormatTotals(q.user, &cached)
		return saw == text && r.Unknown == 0, saw
	})
	if !ok {
		l.t.Errorf("%s: GetInbox says\n    %s\n  but Redis still says\n    %s", l.name, text, saw)
	}
	return text
}

// showViewers returns who received, read and viewed a message.
func (l *tale) showViewers(q *question) string {
	l.t.Helper()
	r, err := tried(l.site.query.GetReceipts, &queryv1.GetReceiptsRequest{ChannelId: q.wireC, MessageId: q.message, PageSize: 1000, After: l.after})
	if notFound(err) {
		return fmt.Sprintf("there is no %s in #%s", q.message, q.channel)
	} else if err != nil {
		l.t.Fatalf("%s: GetReceipts: %v", l.name, err)
	}
	v := projections.ReceiptsView{MessageID: q.message, Recipients: r.RecipientCount, Delivered: r.DeliveredCount, Read: r.ReadCount, Viewed: r.ViewedCount}
	viewed := uint32(0)
	for _, of := range r.Recipients {
		one := projections.Receipt{UserID: l.names[of.UserId], Read: of.Status == "read", Delivered: of.Status != "sent", Viewed: of.ViewedAt != nil}
		for from, to := range map[*timestamppb.Timestamp]*int64{of.DeliveredAt: &one.DeliveredAt, of.ReadAt: &one.ReadAt, of.ViewedAt: &one.ViewedAt} {
			if from != nil {
				*to = l.when(from)
			}
		}
		if one.Viewed {
			viewed++
		}
		v.List = append(v.List, one)
	}
	if viewed != v.Viewed {
		l.t.Errorf("%s: %d viewed %s, and viewed_count is %d", l.name, viewed, q.message, v.Viewed)
	}
	return strings.TrimSpace(script.FormatReceipts(&v) + " " + script.FormatViewers(v.List))
}

// readersText describes how far each member has read.
func (l *tale) readersText(q *question) string {
	l.t.Helper()
	r := asked(l, l.site.query.GetReaders, &queryv1.GetReadersRequest{ChannelId: q.wireC, PageSize: 1000, After: l.after})
	var list []projections.Reader
	for _, of := range r.Readers {
		one := projections.Reader{UserID: l.names[of.UserId], Message: projections.Ref{MessageID: of.MessageId, Seq: of.Seq}}
		if of.At != nil {
			one.At = l.when(of.At)
		}
		list = append(list, one)
	}
	return script.FormatReaders(q.channel, list)
}
