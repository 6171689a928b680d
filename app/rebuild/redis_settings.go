package rebuild

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// settingsFields are the fields of an entry with the user's settings of the channel, as they were
// set: each answer evaluates whether a level has ended. If the entry lags or has `ask`, neither ask
// nor the position of the filing is promised.
func settingsFields(e *cache.Entry, v *projections.View, lags bool) []field {
	f := []field{
		{"level", events.LevelNames[e.Levels.Level], events.LevelNames[v.Level]},
		{"until", millis(e.Levels.Until, e.Levels.Until == 0), millis(v.Until, v.Until == 0)},
		{"level_after", events.LevelNames[e.Levels.After], events.LevelNames[v.LevelAfter]},
		{"ignore_mention_all", strconv.FormatBool(e.IgnoreAll), strconv.FormatBool(v.IgnoreAll)},
		{"flagged", strconv.FormatBool(e.Flagged), strconv.FormatBool(v.Flagged)},
		{"line", line(e.Line.MessageID, e.Line.Seq), line(v.Line.MessageID, v.Line.Seq)},
		{"labels", strings.Join(e.OwnLabels, ", "), strings.Join(v.Labels, ", ")},
	}
	if lags || v.Ask || e.Ask {
		f = append(f, field{"filed", filed(e.Filed, false), filed(v.Filed, false)})
	} else {
		f = append(f, field{"filed", filed(e.Filed, true), filed(v.Filed, true)})
	}
	if !lags && e.Stamp.FoldVersion >= 2 {
		f = append(f, field{"ask", strconv.FormatBool(e.Ask), strconv.FormatBool(v.Ask)})
	}
	return f
}

// mentionFields are the fields of mentions that came with fold version 2; a large channel has no
// first one.
func mentionFields(e *cache.Entry, direct uint32, first projections.Ref) (f []field) {
	if e.Stamp.FoldVersion < 2 {
		return nil
	}
	if e.Known {
		f = append(f, field{"direct_mentions", u(e.DirectMentions), u(direct)})
	}
	if !e.Large {
		f = append(f, field{"first_mention", ref(e.FirstMention.MessageID, e.FirstMention.Seq),
			ref(shownID(first.MessageID, first.Seq, e.FirstMention.MessageID), first.Seq)})
	}
	return f
}

// filed is how long a channel stays filed, if that is promised.
func filed(f events.Filed, promised bool) string {
	switch {
	case !f.Is:
		return "none"
	case f.Keep:
		return "for good"
	case !promised:
		return "until news"
	}
	return "up to pos " + u(f.Pos)
}

func ref(id string, seq uint32) string {
	if seq == 0 {
		return "none"
	}
	return fmt.Sprintf("seq %d, message %q", seq, id)
}

// line is a line as its user set it: by an id or by a seq.
func line(id string, seq uint32) string {
	if id != "" {
		return fmt.Sprintf("message %q", id)
	}
	return ref("", seq)
}
