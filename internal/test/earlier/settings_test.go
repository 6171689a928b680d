package earlier

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// settingsStory has all of DESIGN §4.7. The stories before it are of builds that had none of it.
const settingsStory = "story-said.txt"

// settingsAnswer has a pair's part of it.
type settingsAnswer struct {
	User, Channel        string
	Level, LevelAfter    events.Level
	Until                int64
	IgnoreAll, Flagged   bool
	Filed, Keep          bool
	FiledPos             uint32
	StillFiled, Archived bool
	Line                 ref
	Labels, OfChannel    []string
	Direct, Hidden       uint32
	FirstMention         ref
	Ask                  bool
}

func (a *answers) settings(p *projections.Partition, user, channel string) {
	v, _ := p.View(user, channel)
	x, _ := p.Explain(user, channel)
	a.Said = append(a.Said, settingsAnswer{
		User: user, Channel: channel, Level: v.Level, LevelAfter: v.LevelAfter, Until: v.Until, IgnoreAll: v.IgnoreAll, Flagged: v.Flagged,
		Filed: v.Filed.Is, Keep: v.Filed.Keep, FiledPos: v.Filed.Pos, StillFiled: v.StillFiled, Archived: v.Archived,
		Line: ref{ID: v.LineKnown.MessageID, Seq: v.LineKnown.Seq}, Labels: v.Labels, OfChannel: v.ChannelLabels,
		Direct: v.DirectMentions, Hidden: x.Excluded.Hidden, FirstMention: at(v.FirstMention, 0), Ask: v.Ask,
	})
}

// viewedAnswer has the users who played or opened a message.
type viewedAnswer struct {
	Channel, Message string
	At               map[string]int64
}

func (a *answers) viewed(p *projections.Partition, channel, message string) {
	v, ok := p.Receipts(channel, message, 0, 1000)
	if !ok || v.Viewed == 0 {
		return
	}
	out := viewedAnswer{channel, message, map[string]int64{}}
	for _, r := range v.List {
		if r.Viewed {
			out.At[r.UserID] = r.ViewedAt
		}
	}
	a.Viewed = append(a.Viewed, out)
}

// asks reports whether readers of Redis must ask a node for the counts of a pair.
func (a *answers) asks(user, channel string) bool {
	for _, s := range a.Said {
		if s.User == user && s.Channel == channel {
			return s.Ask
		}
	}
	return false
}
