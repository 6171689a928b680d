package view

import (
	"slices"
	"strings"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/internal/jsonw"
	"github.com/tidemark/tidemark/query/queryv1"
)

// Details is the part of a view besides the counts, which few views have. It is comparable, and not
// shared between views that differ.
type Details struct {
	Until        int64        // Unix milliseconds: LevelAfter applies from then on; 0: the level is permanent
	LevelAfter   events.Level // only with Until
	IgnoreAll    bool         // mentions of everybody do not count for this user
	Flagged      bool
	Filed        events.Filed // by the user; Pos is valid only with HasPos
	HasPos       bool
	FirstMention Ref
	Line         Ref
	OwnLabels    string // the user's own: each followed by 0x00, ascending
	Labels       string // these and the channel's
}

// keep returns s, or nil if it has no content.
func (s *Details) keep() *Details {
	if *s == (Details{}) {
		return nil
	}
	return s
}

func detailsOfDelta(d *events.UnreadDelta) *Details {
	if d.Until == 0 && !d.IgnoreAll && !d.Flagged && !d.Filed.Is && len(d.Labels) == 0 &&
		len(d.Line.MessageID) == 0 && d.Line.Seq == 0 && d.FirstMention.Seq == 0 {
		return nil
	}
	own := Join(d.Labels)
	return (&Details{
		Until: d.Until, LevelAfter: d.LevelAfter, IgnoreAll: d.IgnoreAll, Flagged: d.Flagged, Filed: d.Filed, HasPos: d.Filed.Is,
		FirstMention: refOf(&d.FirstMention), Line: refOf(&d.Line), OwnLabels: own, Labels: own,
	}).keep()
}

func detailsOfAnswer(c *queryv1.ChannelUnread) *Details {
	s := Details{IgnoreAll: c.IgnoreMentionAll, Flagged: c.Flagged, OwnLabels: Join(c.OwnLabels), Labels: Join(c.Labels)}
	if c.Until != nil {
		s.Until, s.LevelAfter = c.Until.AsTime().UnixMilli(), events.Level(c.LevelAfter) //nolint:gosec // there are three levels
	}
	if c.Filed != nil {
		s.Filed = events.Filed{Is: true, Keep: c.Filed.Keep}
	}
	if m := c.FirstMention; m != nil {
		s.FirstMention = Ref{ID: m.MessageId, Seq: m.Seq}
	}
	if l := c.Line; l != nil {
		s.Line = Ref{ID: l.MessageId, Seq: l.Seq}
	}
	return s.keep()
}

// levelOf returns the level of an answer. An older owner only states a plain mute.
func levelOf(c *queryv1.ChannelUnread) events.Level {
	if c.Muted {
		return events.LevelNone
	}
	return events.Level(c.Level) //nolint:gosec // there are three levels
}

// Flagged reports whether the user marked the channel as to be seen.
func (v *View) Flagged() bool { return v.Details != nil && v.Details.Flagged }

// Filed returns the user's filing of the channel.
func (v *View) Filed() events.Filed {
	if v.Details == nil {
		return events.Filed{}
	}
	return v.Details.Filed
}

// Until returns when the level changes, in Unix milliseconds; 0: it does not.
func (v *View) Until() int64 {
	if v.Details == nil {
		return 0
	}
	return v.Details.Until
}

// Change changes the details of v. Views that share them keep theirs.
func (v *View) Change(change func(*Details)) {
	var s Details
	if v.Details != nil {
		s = *v.Details
	}
	change(&s)
	v.Details = s.keep()
}

// Judge sets the level to that of a time, in Unix milliseconds.
func (v *View) Judge(now int64) {
	until := v.Until()
	if until == 0 {
		return
	}
	if is := (events.Levels{Level: v.Level, Until: until, After: v.Details.LevelAfter}).At(now); is.Until == 0 {
		v.Level = is.Level
		v.Change(func(s *Details) { s.Until, s.LevelAfter = 0, events.LevelAll })
	}
}

// Join encodes labels as Details stores them: ascending, without repetitions.
func Join[S []byte | string](lists ...[]S) string {
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	if n == 0 {
		return ""
	}
	all := make([]string, 0, n)
	for _, l := range lists {
		for _, label := range l {
			all = append(all, string(label))
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\x00") + "\x00"
}

// Split decodes the result of Join.
func Split(joined string) []string {
	if joined == "" {
		return nil
	}
	return strings.Split(joined[:len(joined)-1], "\x00")
}

// appendDetails appends Level, Archived and Details. It leaves out ALL and false.
func (v *View) appendDetails(b []byte) []byte {
	if v.Level != events.LevelAll && v.Thread == "" {
		b = frames.Text(b, "level", eventsv1.NotifySet_Level_name[int32(v.Level)])
	}
	s := v.Details
	if s != nil {
		if s.Until > 0 {
			b = frames.Instant(b, "until", s.Until)
			b = frames.Text(b, "level_after", eventsv1.NotifySet_Level_name[int32(s.LevelAfter)])
		}
		b = yes(b, "ignore_mention_all", s.IgnoreAll)
		b = appendRef(b, "first_mention", &s.FirstMention)
		b = yes(b, "flagged", s.Flagged)
		if s.Filed.Is && v.Archived {
			b = append(frames.Bool(append(frames.Key(b, "filed"), '{'), "keep", s.Filed.Keep), '}')
		}
	}
	b = yes(b, "archived", v.Archived)
	if s != nil {
		b = appendRef(b, "line", &s.Line)
		b = appendLabels(b, "labels", s.Labels)
		b = appendLabels(b, "own_labels", s.OwnLabels)
	}
	return b
}

// yes appends a boolean field, or nothing if it is false.
func yes(b []byte, name string, v bool) []byte {
	if !v {
		return b
	}
	return frames.Bool(b, name, true)
}

// appendRef appends a message by id, seq or both.
func appendRef(b []byte, name string, r *Ref) []byte {
	if r.ID == "" && r.Seq == 0 {
		return b
	}
	b = append(frames.Key(b, name), '{')
	b = frames.TextIf(b, "message_id", r.ID)
	if r.Seq > 0 {
		b = frames.Number(b, "seq", uint64(r.Seq))
	}
	return append(b, '}')
}

func appendLabels(b []byte, name, joined string) []byte {
	if joined == "" {
		return b
	}
	b = append(frames.Key(b, name), '[')
	for i, label := range Split(joined) {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonw.AppendSafe(b, label)
	}
	return append(b, ']')
}

func refOf(r *events.Ref) Ref { return Ref{ID: string(r.MessageID), Seq: r.Seq} }
