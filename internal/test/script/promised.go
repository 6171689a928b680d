package script

import (
	"math"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Promised clears the fields of v that a delta need not state (DESIGN §7), now being the pair's
// true state. For a user who is not a member a delta states only what the user did. In a large
// channel it states only what messages of others do not change. A field of View that no delta has
// is cleared here too.
func Promised(v, now projections.View) projections.View {
	v.Stamp = events.Stamp{}
	v.ChannelLabels, v.ChannelArchived, v.Archived, v.StillFiled = nil, false, false, false // in the channel's record
	v.LineKnown = projections.Ref{}                                                         // only in answers
	if now.Large || !now.Member {
		v.Unread, v.Mentions, v.FirstUnread, v.Latest = 0, 0, projections.Ref{}, projections.Head{}
		v.DirectMentions, v.FirstMention = 0, projections.Ref{}
	}
	if pos := &v.Filed.Pos; !now.Member || (now.Large && now.Ask && *pos != math.MaxUint32) {
		*pos = 0
	}
	if !now.Member {
		v.Large, v.OfflineUnread, v.ReadPos, v.Excluded, v.Mentioned, v.Ask = false, 0, 0, nil, nil, false
	}
	if v.LastRead.Seq == 0 {
		v.LastReadAt = 0
	}
	return v
}

// BlockTime returns the time of a message as it is now if it may have been published as an earlier
// one, before the log ended.
func BlockTime(published, now int64) int64 {
	if published == 0 {
		return 0
	}
	return max(published, now)
}

// Standing is Promised without ids that have left the index since v was published, because leaving it is
// no change. Neither is it one when the time of such a message becomes that of its block.
func Standing(v, now projections.View) projections.View {
	v = Promised(v, now)
	if now.FirstUnread.MessageID == "" {
		v.FirstUnread.MessageID = ""
	}
	if now.FirstMention.MessageID == "" {
		v.FirstMention.MessageID = ""
	}
	if now.LastRead.MessageID == "" {
		v.LastRead.MessageID = ""
		v.LastReadAt = BlockTime(v.LastReadAt, now.LastReadAt)
	}
	if now.Latest.MessageID == "" {
		v.Latest.MessageID, v.Latest.SenderID, v.Latest.Preview = "", "", ""
		v.Latest.At = BlockTime(v.Latest.At, now.Latest.At)
	}
	return v
}
