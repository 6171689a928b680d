package museum

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

// question is a parsed question line.
type question struct {
	verb            string // view, inbox, threads, explain, badge, channel, told, redis, pages
	user, channel   string // in the story; channel without #
	thread, message string
	list            string // the part of an inbox: unread or archived
	key             string
	pageSize        int
	wireUser, wireC string
}

func (l *tale) parse(words []string) question {
	q := question{verb: "view", channel: script.DefaultChannel}
	if len(words) > 0 && slices.Contains([]string{"inbox", "threads", "explain", "badge", "told", "shown", "receipts", "readers", "redis", "pages"}, words[0]) {
		q.verb, words = words[0], words[1:]
	}
	switch {
	case q.verb == "redis" && len(words) > 0:
		q.key = words[0]
		return q
	case q.verb == "inbox" && len(words) == 2:
		q.list, words = words[1], words[:1]
	case q.verb == "pages" && len(words) == 3 && words[0] == "of":
		n, err := strconv.Atoi(words[1])
		if err != nil {
			l.t.Fatalf("%s: pages of %q", l.name, words[1])
		}
		q.pageSize, words = n, words[2:]
	}
	if n := len(words); n > 3 && words[n-3] == "in" && words[n-2] == "thread" {
		q.thread, words = words[n-1], words[:n-3]
	}
	for _, w := range words {
		if name, ok := strings.CutPrefix(w, "#"); ok {
			q.channel = name
		} else if q.verb == "receipts" {
			q.message = w
		} else {
			q.user = w
		}
	}
	switch {
	case q.user != "":
		q.wireUser = l.wireUser(q.user)
	case q.verb == "view":
		q.verb = "channel"
	}
	q.wireC = l.wireChannel(q.channel)
	return q
}

// answer returns the answer to a question. expected has the remaining answers of the file: some
// answers become correct only after a while, and answer waits for those.
func (l *tale) answer(words []string, expected string) string {
	l.t.Helper()
	q := l.parse(words)
	switch {
	case q.verb == "channel":
		return l.showChannel(&q)
	case q.verb == "inbox" && q.list != "":
		return l.showList(&q)
	case q.verb == "inbox":
		return l.showInbox(&q)
	case q.verb == "pages":
		return l.showPages(&q)
	case q.verb == "threads":
		return l.showThreads(&q)
	case q.verb == "explain":
		return l.showExplanation(&q)
	case q.verb == "badge":
		return l.showBadge(&q)
	case q.verb == "told":
		return l.showPublished(&q, expected)
	case q.verb == "shown":
		return l.showBroadcast(&q, expected)
	case q.verb == "receipts":
		return l.showReceipts(&q)
	case q.verb == "readers":
		return l.showReaders(&q)
	case q.verb == "redis":
		return l.showKey(q.key, expected)
	case q.thread != "":
		return l.showThread(&q)
	default:
		return l.showView(&q)
	}
}

// showView returns a user's view of a channel, and fails the test if two sources of it differ.
func (l *tale) showView(q *question) string {
	l.t.Helper()
	u, err := tried(l.site.query.GetUnread, &queryv1.GetUnreadRequest{UserId: q.wireUser, ChannelId: q.wireC, After: l.after})
	if notFound(err) {
		l.cachedGone(q)
		return fmt.Sprintf("%s: there is no #%s", q.user, q.channel)
	} else if err != nil {
		l.t.Fatalf("%s: GetUnread: %v", l.name, err)
	}
	x := asked(l, l.site.query.ExplainUnread, &queryv1.ExplainUnreadRequest{UserId: q.wireUser, ChannelId: q.wireC, After: l.after})
	l.explained(q, x, u.Unread, u.FirstUnread, u.LastRead)
	inbox := l.inbox(q, 1000)
	at := slices.IndexFunc(inbox.Channels, func(c *queryv1.ChannelUnread) bool { return c.ChannelId == q.wireC })
	u.AsOf, u.EvaluatedAt = nil, nil // an inbox has one of each for all channels
	switch {
	case u.Member != (at >= 0):
		l.t.Errorf("%s: GetUnread has member=%t, but GetInbox has the channel at index %d", l.name, u.Member, at)
	case at >= 0 && !proto.Equal(u, inbox.Channels[at]):
		l.t.Errorf("%s: GetUnread says\n    %v\n  but GetInbox\n    %v", l.name, u, inbox.Channels[at])
	}
	l.cached(q, u)
	l.pushed(q.wireUser)
	return script.FormatView(&projections.View{
		UserID: q.user, ChannelID: q.channel, Member: u.Member, Unread: u.Unread, Mentions: u.Mentions, OfflineUnread: u.OfflineUnread,
		FirstUnread: refOf(u.FirstUnread), LastRead: lastRead(u.LastRead), LastReadAt: l.when(u.LastRead.GetAt()),
		Muted: u.Muted, ReadEpoch: u.ReadEpoch,
	})
}

// explained compares ExplainUnread's answer with the count that it explains.
func (l *tale) explained(q *question, x *queryv1.ExplainUnreadResponse, unread uint32, first *queryv1.MessageRef, read *queryv1.LastRead) {
	l.t.Helper()
	switch {
	case x.Unread != unread || len(x.MessageIds)+int(x.Unnamed) != int(min(unread, 1000)) || x.More != (unread > 1000):
		l.t.Errorf("%s: %s has %d unread, ExplainUnread says %d and lists %d, more=%t", l.name, q.user, unread, x.Unread, len(x.MessageIds), x.More)
	case len(x.MessageIds) > 0 && x.Unnamed == 0 && x.MessageIds[0] != first.GetMessageId():
		l.t.Errorf("%s: the first unread is %v, ExplainUnread begins with %q", l.name, first, x.MessageIds[0])
	case x.Pointer.GetSeq() != read.GetSeq() || x.Pointer.GetMessageId() != read.GetMessageId() || !proto.Equal(x.Pointer.GetAt(), read.GetAt()):
		l.t.Errorf("%s: the pointer is %v, in ExplainUnread %v", l.name, read, x.Pointer)
	}
}

func (l *tale) inbox(q *question, size uint32) *queryv1.GetInboxResponse {
	l.t.Helper()
	return asked(l, l.site.query.GetInbox, &queryv1.GetInboxRequest{UserId: q.wireUser, PageSize: size, After: l.after})
}

func (l *tale) showInbox(q *question) string {
	l.t.Helper()
	in := l.inbox(q, 1000)
	var sum queryv1.Totals
	var entries []projections.InboxEntry
	for _, c := range in.Channels {
		if !c.Muted {
			sum.Unread += c.Unread
			sum.Mentions += c.Mentions
			if c.Unread > 0 {
				sum.UnreadChannels++
			}
		}
		entries = append(entries, projections.InboxEntry{
			ChannelID: []byte(l.names[c.ChannelId]), Unread: c.Unread, Mentions: c.Mentions, Muted: c.Muted,
		})
	}
	if t := in.Totals; t.Unread != sum.Unread || t.Mentions != sum.Mentions || t.UnreadChannels != sum.UnreadChannels {
		l.t.Errorf("%s: the channels of %s come to %v, the totals are %v", l.name, q.user, &sum, t)
	}
	l.cachedTotals(q, in)
	return script.FormatInbox(q.user, entries)
}

// showPages returns an inbox, read page by page.
func (l *tale) showPages(q *question) string {
	l.t.Helper()
	var out []string
	token := ""
	for {
		page := asked(l, l.site.query.GetInbox, &queryv1.GetInboxRequest{
			UserId: q.wireUser, PageSize: uint32(q.pageSize), PageToken: token, After: l.after,
		})
		var names []string
		for _, c := range page.Channels {
			names = append(names, "#"+l.names[c.ChannelId])
		}
		out = append(out, strings.Join(names, " "))
		if token = page.NextPageToken; token == "" {
			return fmt.Sprintf("%s: %s", q.user, strings.Join(out, " | "))
		}
	}
}

func (l *tale) threads(q *question) *queryv1.GetThreadsResponse {
	l.t.Helper()
	return asked(l, l.site.query.GetThreads, &queryv1.GetThreadsRequest{UserId: q.wireUser, PageSize: 1000, After: l.after})
}

func (l *tale) showThreads(q *question) string {
	l.t.Helper()
	res := l.threads(q)
	var unread, mentions uint32
	var list []projections.ThreadView
	for _, th := range res.Threads {
		v := l.threadView(q.user, th)
		if !v.Muted {
			unread += v.Unread
			mentions += v.Mentions
		}
		list = append(list, v)
	}
	totals := l.inbox(q, 1).Totals
	if t := res.Totals; t.ThreadUnread != unread || t.ThreadMentions != mentions ||
		totals.ThreadUnread != unread || totals.ThreadMentions != mentions {
		l.t.Errorf("%s: the threads of %s come to %d and %d; GetThreads says %v, GetInbox %v", l.name, q.user, unread, mentions, t, totals)
	}
	return script.FormatThreads(q.user, list)
}

func (l *tale) threadView(user string, th *queryv1.ThreadUnread) projections.ThreadView {
	return projections.ThreadView{
		UserID: user, ChannelID: l.names[th.ChannelId], ThreadID: th.ThreadId, Member: true, Following: th.Following,
		Unread: th.Unread, Mentions: th.Mentions, FirstUnread: refOf(th.FirstUnread),
		LastRead: lastRead(th.LastRead), LastReadAt: l.when(th.LastRead.GetAt()),
		LastReply: projections.Head{MessageID: th.LastReply.GetMessageId(), Seq: th.LastReply.GetSeq()},
		Muted:     th.Muted, ReadEpoch: th.ReadEpoch,
	}
}

// showThread returns a user's view of one thread.
func (l *tale) showThread(q *question) string {
	l.t.Helper()
	x := asked(l, l.site.query.ExplainUnread, &queryv1.ExplainUnreadRequest{
		UserId: q.wireUser, ChannelId: q.wireC, ThreadId: q.thread, After: l.after,
	})
	for _, th := range l.threads(q).Threads {
		if th.ChannelId == q.wireC && th.ThreadId == q.thread {
			l.explained(q, x, th.Unread, th.FirstUnread, th.LastRead)
			l.cachedThread(q, th)
			v := l.threadView(q.user, th)
			return script.FormatThread(&v)
		}
	}
	if x.Unread != 0 {
		return fmt.Sprintf("%s in thread %s: not listed, %d unread", q.user, q.thread, x.Unread)
	}
	return fmt.Sprintf("%s in thread %s: not listed", q.user, q.thread)
}

func (l *tale) showExplanation(q *question) string {
	l.t.Helper()
	x := asked(l, l.site.query.ExplainUnread, &queryv1.ExplainUnreadRequest{
		UserId: q.wireUser, ChannelId: q.wireC, ThreadId: q.thread, After: l.after,
	})
	text := script.FormatExplanation(q.user, q.channel, &projections.Explanation{
		Unread: x.Unread, MessageIDs: x.MessageIds, More: x.More,
		Excluded: projections.Excluded{
			Own: x.Excluded.Own, Deleted: x.Excluded.Deleted, Silent: x.Excluded.Silent, Thread: x.Excluded.Thread,
			ReadSingly: x.Excluded.ReadSingly, BeforeJoin: x.Excluded.BeforeJoin, Hidden: x.Excluded.Hidden,
		},
		Pointer:   projections.Ref{MessageID: x.Pointer.GetMessageId(), Seq: x.Pointer.GetSeq()},
		PointerAt: l.when(x.Pointer.GetAt()),
	})
	if by := x.Pointer.GetEvent(); by != "" {
		line, ok := l.records[by]
		if !ok {
			l.t.Errorf("%s: ExplainUnread names %s, which is no record of the story", l.name, by)
		}
		text, _, _ = strings.Cut(text, " by chat.")
		text += fmt.Sprintf(" by %q", line)
	}
	return text
}

// showBadge returns what an app shows. The app only adds up one sum.
func (l *tale) showBadge(q *question) string {
	l.t.Helper()
	totals := l.inbox(q, 1).Totals
	n := totals.Unread + totals.ThreadUnread
	drawn, dot := strconv.FormatUint(uint64(n), 10), "no dot"
	if n > 0 {
		dot = "dot"
	}
	if n > 99 {
		drawn = "99+"
	}
	return fmt.Sprintf("%s: %s, %d in %s, drawn as %q", q.user, dot, n, plural(totals.UnreadChannels, "channel"), drawn)
}

func plural(n uint32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (l *tale) showChannel(q *question) string {
	l.t.Helper()
	c, err := tried(l.site.query.GetChannel, &queryv1.GetChannelRequest{ChannelId: q.wireC, After: l.after})
	if notFound(err) {
		return "there is no #" + q.channel
	} else if err != nil {
		l.t.Fatalf("%s: GetChannel: %v", l.name, err)
	}
	return script.FormatChannel(&projections.ChannelView{
		ChannelID: q.channel, HeadSeq: c.HeadSeq, HeadPos: c.HeadPos, MemberCount: c.MemberCount, Large: c.Large, Labels: c.Labels, Archived: c.Archived,
		Latest: projections.Head{
			MessageID: c.Latest.GetMessageId(), Seq: c.Latest.GetSeq(), At: l.when(c.Latest.GetAt()),
			SenderID: l.names[c.Latest.GetSenderId()], Preview: c.Latest.GetPreview(),
		},
	})
}

// showPublished returns the newest delta since the previous call. An answered query shows that the
// story's events are folded. Their deltas then precede, in tidemark.unread, any later delta of
// another user in the same partition. That user acts twice, because their first delta may be
// published in the same set as the story's.
func (l *tale) showPublished(q *question, expected string) string {
	l.t.Helper()
	key := string(events.AppendUnreadKey(nil, []byte(q.wireUser), []byte(q.wireC), []byte(q.thread)))
	asked(l, l.site.query.GetInbox, &queryv1.GetInboxRequest{UserId: q.wireUser, After: l.after})
	for range 2 {
		l.fence(q)
	}
	text := func() string {
		d, n := l.site.published.about(key)
		if n == l.seen[key] {
			return q.user + ": nothing"
		}
		named := *d
		named.UserID, named.ChannelID = []byte(q.user), []byte(q.channel)
		return script.FormatDelta(&named)
	}
	saw, _ := eventually(func() (bool, string) {
		saw := text()
		return l.isExpected(saw, expected), saw // deltas may be joined at first
	})
	_, l.seen[key] = l.site.published.about(key)
	return saw
}

func refOf(r *queryv1.MessageRef) projections.Ref {
	return projections.Ref{MessageID: r.GetMessageId(), Seq: r.GetSeq()}
}

func lastRead(r *queryv1.LastRead) projections.Ref {
	return projections.Ref{MessageID: r.GetMessageId(), Seq: r.GetSeq()}
}

// isExpected reports whether the file's answers begin with this one.
func (l *tale) isExpected(saw, expected string) bool {
	return l.rewrite || expected == saw || strings.HasPrefix(expected, saw+"\n")
}
