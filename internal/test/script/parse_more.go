package script

import "github.com/tidemark/tidemark/events"

// more parses a user's other settings of a channel (DESIGN §4.7); nil if the line has none.
func (p *Parser) more(l *line, h *head, r *events.Read) *events.Read {
	switch {
	case l.take("wants"):
		r.Kind = events.KindNotifySet
		r.Level = level(l)
		r.IgnoreAll = choice(l, []string{"ignoring", "@all"}, []string{"heeding", "@all"})
		if l.take("until") {
			r.Until = p.time(l, h)
		}
	case l.take("flags"):
		r.Kind, r.Flagged, r.HeadSeq = events.KindFlagSet, true, headSeq(l)
	case l.take("unflags"):
		r.Kind, r.HeadSeq = events.KindFlagSet, headSeq(l)
	case l.take("files"):
		r.Kind, r.Archived, r.Keep, r.HeadSeq = events.KindChannelFiled, true, l.take("for", "good"), headSeq(l)
	case l.take("unfiles"):
		r.Kind, r.Keep, r.HeadSeq = events.KindChannelFiled, l.take("for", "good"), headSeq(l)
	case l.take("hides"):
		r.Kind = events.KindMessagesHidden
		if !l.take("up", "to", "seq") {
			r.IDs = bytesOf(l.list("a message id", "up"))
			if !l.take("up", "to", "seq") {
				return r
			}
		}
		r.Seq = l.number("seq")
	case l.take("draws", "the", "line", "under"):
		r.Kind = events.KindLineSet
		r.Target, r.MessageID, r.Seq, _ = p.target(l, h)
	case l.take("views"):
		r.Kind, r.IDs = events.KindMessagesViewed, bytesOf(l.list("a message id"))
	case l.take("labels", "nothing"):
		r.Kind = events.KindLabelsSet
	case l.take("labels"):
		r.Kind, r.IDs = events.KindLabelsSet, bytesOf(l.list("a label"))
	default:
		return nil
	}
	return r
}

var levelNames = [events.NumLevels]string{events.LevelAll: "everything", events.LevelMentions: "mentions", events.LevelNone: "nothing"}

func level(l *line) events.Level {
	for i, name := range levelNames {
		if l.take(name) {
			return events.Level(i)
		}
	}
	l.fail("%q, %q or %q is missing", levelNames[0], levelNames[1], levelNames[2])
	return 0
}

// choice parses one of two phrases at any place in the line and returns which one it found. It
// looks for no first, because no may contain yes.
func choice(l *line, yes, no []string) events.Choice {
	switch {
	case l.flag(no...):
		return events.No
	case l.flag(yes...):
		return events.Yes
	}
	return events.NotStated
}
