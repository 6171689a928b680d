package script

import (
	"fmt"
	"strings"

	"github.com/tidemark/tidemark/projections"
)

// FormatThread describes a user's view of a thread. It leaves out the stamp.
func FormatThread(v *projections.ThreadView) string {
	var w words
	w.add(threadName(v.UserID, v.ChannelID, v.ThreadID)+":", counts(v.Unread, v.Mentions))
	if v.FirstUnread.Seq > 0 {
		w.add("from " + refName(v.FirstUnread))
	}
	w.add("|", pointer(v.LastRead, v.LastReadAt), "|")
	if v.LastReply.Seq > 0 {
		w.add("last reply", refName(projections.Ref{MessageID: v.LastReply.MessageID, Seq: v.LastReply.Seq}))
	} else {
		w.add("no reply")
	}
	if v.ReadEpoch != 1 {
		w.add(fmt.Sprintf("| epoch %d", v.ReadEpoch))
	}
	w.flag(v.Muted, "| muted")
	w.flag(!v.Following, "| not followed")
	w.flag(!v.Member, "| no member")
	return strings.Join(w, " ")
}

// FormatThreads describes which threads are listed for a user, and the total of those whose
// channels are not muted.
func FormatThreads(user string, list []projections.ThreadView) string {
	var w words
	w.add(user + ":")
	var unread, mentions uint32
	for i := range list {
		v := &list[i]
		name := v.ThreadID
		if v.ChannelID != DefaultChannel {
			name += " in #" + v.ChannelID
		}
		w.add(name, counts(v.Unread, v.Mentions))
		if v.Muted {
			w.add("(muted)")
		} else {
			unread += v.Unread
			mentions += v.Mentions
		}
		w.add("|")
	}
	w.add("total in threads", counts(unread, mentions))
	return strings.Join(w, " ")
}
