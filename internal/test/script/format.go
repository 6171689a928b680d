package script

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/tidemark/tidemark/events"
)

// Format returns a record as a line of script, with all its times. Parse turns the line into the
// same record, except for the offset.
func Format(r *Record) string {
	var w words
	var channel []byte
	var at int64
	switch r.Input {
	case events.Messages:
		w.message(r.Message)
		channel, at = r.Message.ChannelID, r.Message.OccurredAt
	case events.Reads:
		w.read(r.Read)
		channel, at = r.Read.ChannelID, r.Read.OccurredAt
	default:
		w.delivery(r.Delivery)
		channel, at = r.Delivery.ChannelID, r.Delivery.OccurredAt
	}
	if string(channel) != DefaultChannel {
		w.add("#" + string(channel))
	}
	w.add("at", FormatTime(at), "recorded", FormatTime(r.Timestamp))
	return strings.Join(w, " ")
}

// FormatLog returns a log as lines of script, topic by topic.
func FormatLog(l *Log) string {
	var b strings.Builder
	for _, records := range l {
		for i := range records {
			b.WriteString(Format(&records[i]))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

type words []string

func (w *words) add(s ...string) { *w = append(*w, s...) }

// with appends a word and a value if there is a value.
func (w *words) with(word string, value []byte) {
	if len(value) > 0 {
		w.add(word, string(value))
	}
}

func (w *words) flag(is bool, word string) {
	if is {
		w.add(word)
	}
}

func (w *words) number(word string, n uint32) {
	if n != 0 {
		w.add(word, strconv.FormatUint(uint64(n), 10))
	}
}

func (w *words) choice(c events.Choice, yes, no string) {
	w.flag(c == events.Yes, yes)
	w.flag(c == events.No, no)
}

func (w *words) idOrSeq(id []byte, seq uint32) {
	if len(id) > 0 {
		w.add(string(id))
	}
	w.number("seq", seq)
}

func (w *words) target(t events.Target, id []byte, seq uint32, time int64) {
	switch t {
	case events.TargetSeq:
		w.add("seq", strconv.FormatUint(uint64(seq), 10))
	case events.TargetTime:
		w.add("time", FormatTime(time))
	default:
		w.add(string(id))
	}
}

func (w *words) message(m *events.Message) {
	switch m.Kind {
	case events.KindMessagePosted:
		if len(m.SenderID) == 0 {
			w.add("notice", string(m.MessageID))
		} else {
			w.add(string(m.SenderID), "posts", string(m.MessageID))
			w.flag(m.Silent, "silent")
		}
		w.content(m)
		w.flag(m.Broadcast, "broadcast")
		w.with("in thread", m.ThreadID)
		w.number("members", m.MemberCount)
		w.choice(m.MarksRead, "reading", "not reading")
		if len(m.HiddenFrom) > 0 {
			w.add("hidden from", names(m.HiddenFrom))
		}
	case events.KindMessageEdited:
		w.add("edit", string(m.MessageID))
		w.content(m)
		w.flag(m.KeepMentions, "keeping mentions")
	case events.KindMessageDeleted:
		w.add("delete")
		w.idOrSeq(m.MessageID, m.Seq)
	case events.KindMessagesSeeded:
		w.add("seed", strconv.FormatUint(uint64(m.Count), 10), "messages")
	case events.KindMessagesPurged:
		w.add("purge up to")
		w.target(m.Target, m.MessageID, m.Seq, m.TargetTime)
	case events.KindMembersJoined:
		w.add(names(m.IDs), "join")
		w.flag(m.CountHistory, "counting history")
	case events.KindMembersLeft:
		w.add(names(m.IDs), "leave")
	case events.KindChannelUpdated:
		w.add("update the channel")
		if len(m.IDs) > 0 {
			w.add("labels", names(m.IDs))
		}
		w.flag(m.Archived, "archived")
	case events.KindChannelDeleted:
		w.add("delete the channel")
	}
}

func (w *words) content(m *events.Message) {
	if len(m.Preview) > 0 {
		w.add(strconv.Quote(string(m.Preview)))
	}
	for _, id := range m.IDs {
		w.add("@" + string(id))
	}
	w.flag(m.MentionAll, "@all")
}

func (w *words) read(r *events.Read) {
	w.add(string(r.UserID))
	inThread := r.ThreadID
	switch r.Kind {
	case events.KindReadUpTo:
		w.add("reads up to")
		w.target(r.Target, r.MessageID, r.Seq, r.TargetTime)
		w.flag(r.WithThreads, "with threads")
	case events.KindMessagesRead:
		w.add("reads", names(r.IDs))
	case events.KindMarkedUnread:
		w.add("marks unread")
		w.idOrSeq(r.MessageID, r.Seq)
		w.number("head seq", r.HeadSeq)
		w.with("head", r.HeadMessageID)
	case events.KindChannelMuted:
		w.add(map[bool]string{true: "mutes", false: "unmutes"}[r.Muted])
	case events.KindThreadFollowed:
		w.add("follows", string(r.ThreadID))
		inThread = nil
	case events.KindThreadUnfollowed:
		w.add("unfollows", string(r.ThreadID))
		inThread = nil
	case events.KindUserErased:
		w.add("is erased")
	default:
		w.more(r)
	}
	w.with("in thread", inThread)
	w.number("epoch", r.ReadEpoch)
	w.flag(r.Private, "private")
	w.with("from", r.InstanceID)
}

// more formats a user's other settings of a channel (DESIGN §4.7).
func (w *words) more(r *events.Read) {
	switch r.Kind {
	case events.KindNotifySet:
		w.add("wants", levelNames[r.Level])
		w.flag(r.Until != 0, "until "+FormatTime(r.Until))
		w.choice(r.IgnoreAll, "ignoring @all", "heeding @all")
	case events.KindFlagSet:
		w.add(map[bool]string{true: "flags", false: "unflags"}[r.Flagged])
		w.number("head seq", r.HeadSeq)
	case events.KindChannelFiled:
		w.add(map[bool]string{true: "files", false: "unfiles"}[r.Archived])
		w.flag(r.Keep, "for good")
		w.number("head seq", r.HeadSeq)
	case events.KindMessagesHidden:
		w.add("hides")
		if len(r.IDs) > 0 {
			w.add(names(r.IDs))
		}
		w.number("up to seq", r.Seq)
	case events.KindLineSet:
		w.add("draws the line under")
		w.target(r.Target, r.MessageID, r.Seq, 0)
	case events.KindMessagesViewed:
		w.add("views", names(r.IDs))
	case events.KindLabelsSet:
		w.add("labels", cmp.Or(names(r.IDs), "nothing"))
	}
}

func (w *words) delivery(d *events.Delivery) {
	w.add(string(d.UserID))
	switch {
	case d.Kind == events.KindQueued:
		w.add("misses", string(d.MessageID))
	case len(d.UpToID) > 0:
		w.add("gets up to", string(d.UpToID))
	default:
		w.add("gets", string(d.MessageID))
	}
}

func names(ids [][]byte) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return strings.Join(out, ", ")
}
