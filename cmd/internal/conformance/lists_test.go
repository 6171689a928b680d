package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// The questions whose answers are lists and sums.

func (w *world) askInbox(q *question, a *Ask, now int64) []string {
	a.Method, a.Request["page_size"] = "GetInbox", 1000
	all := w.Inbox(q.user)
	byModel := script.FormatInbox(q.user, all)
	flagged := map[string]bool{}
	for _, e := range all {
		v, _ := w.View(q.user, string(e.ChannelID))
		flagged[string(e.ChannelID)] = v.Flagged
	}
	first := func(e *projections.InboxEntry) int {
		if e.Unread > 0 || flagged[string(e.ChannelID)] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b projections.InboxEntry) int {
		return cmp.Or(cmp.Compare(first(&a), first(&b)), cmp.Compare(b.LatestAt, a.LatestAt), cmp.Compare(string(a.ChannelID), string(b.ChannelID)))
	})
	channels := []any{}
	for _, e := range all {
		if id := string(e.ChannelID); !w.Archived(q.user, id) {
			channels = append(channels, object{"channel_id": id, "unread": e.Unread, "mentions": e.Mentions, "muted": e.Muted})
		}
	}
	t := w.Totals(q.user, "", now, false)
	a.Want = object{"channels": channels, "totals": object{"unread": t.Unread, "mentions": t.Mentions}}
	return []string{byModel, script.FormatInbox(q.user, all)}
}

func (w *world) askTotals(q *question, a *Ask, now int64) []string {
	a.Method, a.Request["page_size"] = "GetInbox", 1
	t := w.Totals(q.user, q.label, now, false)
	if q.verb == "badge" {
		a.Want = object{"totals": object{"unread": t.Unread, "thread_unread": t.ThreadUnread, "unread_channels": t.UnreadChannels}}
		n, dot := t.Unread+t.ThreadUnread, "no dot"
		drawn := fmt.Sprint(n)
		if n > 0 {
			dot = "dot"
		}
		if n > 99 {
			drawn = "99+"
		}
		channels := fmt.Sprintf("%d channels", t.UnreadChannels)
		if t.UnreadChannels == 1 {
			channels = "1 channel"
		}
		return []string{fmt.Sprintf("%s: %s, %d in %s, drawn as %q", q.user, dot, n, channels, drawn)}
	}
	totals := object{
		"badge": t.Badge, "unread": t.Unread, "mentions": t.Mentions, "unread_channels": t.UnreadChannels,
		"thread_unread": t.ThreadUnread, "thread_mentions": t.ThreadMentions, "unread_threads": t.UnreadThreads,
		"flagged": t.Flagged, "archived": object{"unread_channels": t.ArchivedChannels, "mentions": t.ArchivedMentions},
	}
	a.Want = object{"totals": totals}
	if q.label != "" {
		a.Want = object{"totals_by_label": object{q.label: totals}}
	}
	return []string{script.FormatTotals(q.user, &t)}
}

func (w *world) askChannel(q *question, a *Ask) []string {
	a.Method, a.Request["channel_id"] = "GetChannel", q.channel
	c, ok := w.Channel(q.channel)
	if !ok {
		a.Error = "not_found"
		return []string{"there is no #" + q.channel}
	}
	a.Want = object{
		"head_seq": c.HeadSeq, "head_pos": c.HeadPos, "member_count": c.MemberCount, "latest": nil,
		"labels": list(c.Labels), "archived": c.Archived,
	}
	if c.Latest.Seq > 0 {
		a.Want["latest"] = object{
			"message_id": c.Latest.MessageID, "sender_id": c.Latest.SenderID, "preview": c.Latest.Preview, "at": since(c.Latest.At),
		}
	}
	return []string{script.FormatChannel(&c)}
}

func (w *world) askExplain(q *question, a *Ask) []string {
	a.Method = "ExplainUnread"
	x, ok := w.Explain(q.user, q.channel)
	if q.thread != "" {
		a.Request["thread_id"] = q.thread
		x, ok = w.ExplainThread(q.user, q.channel, q.thread)
	}
	if !ok {
		a.Error = "not_found"
		return []string{fmt.Sprintf("%s: there is no #%s", q.user, q.channel)}
	}
	e := &x.Excluded
	a.Want = object{
		"unread": x.Unread, "message_ids": list(x.MessageIDs), "more": x.More, "unnamed": x.Unnamed, "pointer": wantedRead(x.Pointer, x.PointerAt),
		"excluded": object{
			"own": e.Own, "deleted": e.Deleted, "silent": e.Silent, "thread": e.Thread, "read_singly": e.ReadSingly,
			"before_join": e.BeforeJoin, "hidden": e.Hidden,
		},
	}
	return []string{script.FormatExplanation(q.user, q.channel, &x)}
}

func (w *world) askReaders(q *question, a *Ask) []string {
	a.Method, a.Request["channel_id"], a.Request["page_size"] = "GetReaders", q.channel, 1000
	all, ok := w.Readers(q.channel)
	if !ok {
		a.Error = "not_found"
		return []string{"there is no #" + q.channel}
	}
	readers := []any{}
	var words []string
	for _, r := range all {
		one, word := object{"user_id": r.UserID, "message_id": r.Message.MessageID}, r.UserID+" nothing"
		if r.Message.Seq > 0 {
			one["at"], word = since(r.At), fmt.Sprintf("%s %s at %s", r.UserID, r.Message.MessageID, script.FormatTime(r.At))
		}
		readers, words = append(readers, one), append(words, word)
	}
	a.Want = object{"readers": readers}
	return []string{script.FormatReaders(q.channel, all), fmt.Sprintf("#%s: %s", q.channel, strings.Join(words, ", "))}
}

func (w *world) askReceipts(q *question, a *Ask) []string {
	a.Method, a.Request["channel_id"], a.Request["message_id"], a.Request["page_size"] = "GetReceipts", q.channel, q.message, 1000
	v, ok := w.Receipts(q.channel, q.message)
	if !ok {
		a.Error = "not_found"
		return []string{q.message + ": no such message", fmt.Sprintf("there is no %s in #%s", q.message, q.channel)}
	}
	recipients := []any{}
	var words []string
	for _, r := range v.List {
		one, word := object{"user_id": r.UserID, "status": "sent"}, r.UserID+" sent"
		for name, at := range map[string]int64{"delivered_at": r.DeliveredAt, "read_at": r.ReadAt, "viewed_at": r.ViewedAt} {
			if at != 0 {
				one[name] = since(at)
			}
		}
		switch {
		case r.Read:
			one["status"], word = "read", r.UserID+" read"+atTime(r.ReadAt)
		case r.Delivered:
			one["status"], word = "delivered", r.UserID+" delivered"+atTime(r.DeliveredAt)
		}
		recipients, words = append(recipients, one), append(words, word)
	}
	status := "sent"
	switch {
	case v.Recipients > 0 && v.Read == v.Recipients:
		status = "read"
	case v.Recipients > 0 && v.Delivered == v.Recipients:
		status = "delivered"
	}
	a.Want = object{
		"status": status, "recipient_count": v.Recipients, "delivered_count": v.Delivered, "read_count": v.Read, "viewed_count": v.Viewed,
		"recipients": recipients,
	}
	short := script.FormatReceipts(&v)
	return []string{
		short, strings.TrimSpace(short + " " + script.FormatViewers(v.List)),
		fmt.Sprintf("%s: %s, read by %d of %d, delivered to %d | %s", q.message, status, v.Read, v.Recipients, v.Delivered, strings.Join(words, ", ")),
	}
}

func atTime(at int64) string {
	if at == 0 {
		return ""
	}
	return " at " + script.FormatTime(at)
}
