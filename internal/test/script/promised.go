package script

import (
	"math"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Promised returns the part of v that a delta promises to say, about a pair that really is as now
// (DESIGN §7): to those who are no members their own doing, in a large channel what messages of
// others do not change. A field of View that no delta says is cleared here.
func Promised(v, now projections.View) projections.View {
	v.Stamp = events.Stamp{}
	v.ChannelLabels, v.ChannelArchived, v.Archived, v.StillFiled = nil, false, false, false // the channel's record tells them
	v.LineKnown = projections.Ref{}                                                         // only an answer tells it
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
