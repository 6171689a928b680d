package script

import (
	"fmt"
	"math"
	"strings"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// FormatView describes a user's view of a channel. It leaves out the stamp, and the latest message,
// which FormatChannel has.
func FormatView(v *projections.View) string {
	var w words
	w.add(pairName(v.UserID, v.ChannelID)+":", counts(v.Unread, v.Mentions))
	if v.OfflineUnread > 0 {
		w.add(fmt.Sprintf("(%d queued)", v.OfflineUnread))
	}
	if v.FirstUnread.Seq > 0 {
		w.add("from " + refName(v.FirstUnread))
	}
	w.add("|", pointer(v.LastRead, v.LastReadAt))
	if v.ReadEpoch != 1 {
		w.add(fmt.Sprintf("| epoch %d", v.ReadEpoch))
	}
	w.flag(v.Muted, "| muted")
	w.flag(!v.Member, "| no member")
	if v.Level == events.LevelMentions || v.Until != 0 {
		s := "| wants " + levelNames[v.Level]
		if v.Until != 0 {
			s += fmt.Sprintf(" until %s, then %s", FormatTime(v.Until), levelNames[v.LevelAfter])
		}
		w.add(s)
	}
	w.flag(v.IgnoreAll, "| ignores @all")
	if v.Line != (projections.Ref{}) {
		w.add("| line under " + refName(v.Line))
	}
	w.labels(v.Labels)
	if v.Large {
		w.add(fmt.Sprintf("| large: read position %d", v.ReadPos))
		w.positions("excluded", v.Excluded)
		w.positions("mentioned", v.Mentioned)
		w.flag(v.Ask, "| ask")
	}
	w.flag(v.Flagged, "| flagged")
	switch {
	case v.Filed.Keep:
		w.add("| filed for good")
	case v.Filed.Is && v.Filed.Pos == math.MaxUint32:
		w.add("| filed")
	case v.Filed.Is:
		w.add(fmt.Sprintf("| filed up to position %d", v.Filed.Pos))
	}
	return strings.Join(w, " ")
}

// FormatDelta describes a delta like FormatView, without the fields that deltas of large channels
// leave out.
func FormatDelta(d *events.UnreadDelta) string {
	v := DeltaView(d)
	s := FormatView(&v)
	if len(d.ThreadID) > 0 {
		s = threadName(v.UserID, v.ChannelID, string(d.ThreadID)) + strings.TrimPrefix(s, pairName(v.UserID, v.ChannelID))
	}
	if d.Large {
		_, rest, _ := strings.Cut(s, " | ")
		s = pairName(v.UserID, v.ChannelID) + ": | " + rest
	}
	if len(d.InstanceID) > 0 {
		s += " | from " + string(d.InstanceID)
	}
	return s
}

// DeltaView returns the content of a delta as a View.
func DeltaView(d *events.UnreadDelta) projections.View {
	return projections.View{
		UserID: string(d.UserID), ChannelID: string(d.ChannelID),
		Member: d.Member, Unread: d.Unread, Mentions: d.Mentions, OfflineUnread: d.OfflineUnread,
		FirstUnread: projections.Ref{MessageID: string(d.FirstUnread.MessageID), Seq: d.FirstUnread.Seq},
		LastRead:    projections.Ref{MessageID: string(d.LastRead.MessageID), Seq: d.LastRead.Seq},
		LastReadAt:  d.LastReadAt,
		Latest: projections.Head{
			MessageID: string(d.Latest.MessageID), Seq: d.Latest.Seq, Pos: d.Latest.Pos, At: d.Latest.At,
			SenderID: string(d.Latest.SenderID), Preview: string(d.Latest.Preview),
		},
		DirectMentions: d.DirectMentions,
		FirstMention:   projections.Ref{MessageID: string(d.FirstMention.MessageID), Seq: d.FirstMention.Seq},
		Large:          d.Large, Muted: d.Muted, ReadEpoch: d.ReadEpoch, Stamp: d.Stamp,
		ReadPos: d.ReadPos, Excluded: d.Excluded, Mentioned: d.Mentioned, Ask: d.Ask,
		Level: d.ChosenLevel(), LevelAfter: d.LevelAfter, Until: d.Until, IgnoreAll: d.IgnoreAll, Flagged: d.Flagged, Filed: d.Filed,
		Line: projections.Ref{MessageID: string(d.Line.MessageID), Seq: d.Line.Seq}, Labels: strs(d.Labels),
	}
}

// FormatChannel describes a channel.
func FormatChannel(c *projections.ChannelView) string {
	var w words
	w.add(fmt.Sprintf("#%s: %s, %d count, %s |", c.ChannelID, plural(c.HeadSeq, "message"), c.HeadPos, plural(c.MemberCount, "member")))
	if c.Latest.Seq == 0 {
		w.add("no latest")
	} else {
		w.add("latest", refName(projections.Ref{MessageID: c.Latest.MessageID, Seq: c.Latest.Seq}))
		if c.Latest.SenderID != "" {
			w.add("by", c.Latest.SenderID)
		}
		if c.Latest.Preview != "" {
			w.add(fmt.Sprintf("%q", c.Latest.Preview))
		}
		w.add("at", FormatTime(c.Latest.At))
	}
	w.flag(c.Large, "| large")
	w.labels(c.Labels)
	w.flag(c.Archived, "| archived")
	return strings.Join(w, " ")
}

// FormatExplanation describes why a count has its value.
func FormatExplanation(user, channel string, x *projections.Explanation) string {
	var w words
	w.add(pairName(user, channel)+":", fmt.Sprintf("%d unread", x.Unread))
	w.add(x.MessageIDs...)
	w.flag(x.More, "and more")
	if x.Unnamed > 0 {
		w.add(fmt.Sprintf("and %d without id", x.Unnamed))
	}
	w.add("| not counted:")
	none := len(w)
	for _, e := range []struct {
		n    uint32
		what string
	}{
		{x.Excluded.BeforeJoin, "from before joining"}, {x.Excluded.Deleted, "deleted"}, {x.Excluded.Silent, "silent"},
		{x.Excluded.Thread, "in threads"}, {x.Excluded.Own, "own"}, {x.Excluded.Hidden, "hidden"}, {x.Excluded.ReadSingly, "read singly"},
	} {
		if e.n > 0 {
			w.add(fmt.Sprintf("%d %s,", e.n, e.what))
		}
	}
	if len(w) == none {
		w.add("none")
	}
	w[len(w)-1] = strings.TrimSuffix(w[len(w)-1], ",")
	w.add("|", pointer(x.Pointer, x.PointerAt))
	if x.Pointer.Seq > 0 && x.Event.Gone {
		w.add("by a trimmed message")
	} else if x.Pointer.Seq > 0 {
		w.add(fmt.Sprintf("by %s/%d", x.Event.Input, x.Event.Offset))
	}
	return strings.Join(w, " ")
}

// FormatInbox describes which channels a user is a member of, and the total of those that are not
// muted.
func FormatInbox(user string, entries []projections.InboxEntry) string {
	var w words
	w.add(user + ":")
	var unread, mentions uint32
	for i := range entries {
		e := &entries[i]
		w.add(fmt.Sprintf("#%s %s", e.ChannelID, counts(e.Unread, e.Mentions)))
		if e.Muted {
			w.add("(muted)")
		} else {
			unread += e.Unread
			mentions += e.Mentions
		}
		w.add("|")
	}
	w.add("total", counts(unread, mentions))
	return strings.Join(w, " ")
}

// FormatStamp writes a stamp as DESIGN §2 does.
func FormatStamp(s events.Stamp) string {
	return fmt.Sprintf("%d.%d.%d.%d", s.FoldVersion, s.M, s.R, s.D)
}

func pairName(user, channel string) string {
	if channel == DefaultChannel {
		return user
	}
	return user + " in #" + channel
}

// threadName names a user in a thread; in no thread it is pairName.
func threadName(user, channel, thread string) string {
	if thread == "" {
		return pairName(user, channel)
	}
	return pairName(user, channel) + " in thread " + thread
}

func counts(unread, mentions uint32) string {
	s := fmt.Sprintf("%d unread", unread)
	if mentions > 0 {
		s += ", " + plural(mentions, "mention")
	}
	return s
}

func pointer(r projections.Ref, at int64) string {
	if r.Seq == 0 {
		return "read nothing"
	}
	if at == 0 { // a read of the channel with its threads put it there
		return "read to " + refName(r)
	}
	return fmt.Sprintf("read to %s at %s", refName(r), FormatTime(at))
}

func refName(r projections.Ref) string {
	if r.MessageID == "" {
		return fmt.Sprintf("seq %d", r.Seq)
	}
	return r.MessageID
}

func plural(n uint32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (w *words) labels(labels []string) {
	if len(labels) > 0 {
		w.add("| labels " + strings.Join(labels, ", "))
	}
}

func (w *words) positions(what string, list []uint32) {
	if len(list) > 0 {
		w.add(what, strings.Trim(fmt.Sprint(list), "[]"))
	}
}
