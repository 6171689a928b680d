package checker

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

// ApplyChannel takes a value of tidemark.channels, as Apply takes a value of tidemark.unread.
func (m *Mirror) ApplyChannel(value []byte) error {
	var c events.ChannelRecord
	if err := events.DecodeChannelRecord(slices.Clone(value), &c); err != nil {
		return err
	}
	if was, ok := m.channels[string(c.ChannelID)]; ok && was.Stamp.Dominates(c.Stamp) {
		return nil
	}
	if m.channels == nil {
		m.channels = map[string]events.ChannelRecord{}
	}
	m.channels[string(c.ChannelID)] = c
	return nil
}

// Answer derives what a user sees as of a time in Unix milliseconds from the deltas and channel
// records that were read. It lists threads for good, because no record has the log's time.
func (m *Mirror) Answer(user string, now int64) *Answer {
	a := &Answer{Channels: map[string]Channel{}, Threads: map[ThreadID]Thread{}, ByLabel: map[string]model.Totals{}}
	for _, d := range m.of {
		if d.view.UserID == user && d.thread == "" && d.view.Member {
			a.Channels[d.view.ChannelID] = m.channel(&d, now)
		}
	}
	for _, d := range m.of {
		if _, member := a.Channels[d.view.ChannelID]; member && d.view.UserID == user && d.thread != "" && d.view.Member {
			a.Threads[ThreadID{d.view.ChannelID, d.thread}] = Thread{Counts: countsOf(&d.view), Place: placeOf(&d.view), Listed: true}
		}
	}
	a.sum()
	return a
}

func (m *Mirror) channel(d *mirrored, now int64) Channel {
	v, record := &d.view, m.channels[d.view.ChannelID]
	var labels []string
	for _, label := range record.Labels {
		labels = append(labels, string(label))
	}
	c := Channel{
		Counts: countsOf(v), Place: placeOf(v), OfflineUnread: v.OfflineUnread, Large: v.Large,
		Levels:    events.Levels{Level: v.Level, Until: v.Until, After: v.LevelAfter},
		IgnoreAll: v.IgnoreAll, Flagged: v.Flagged, Archived: record.Archived || v.Filed.Holds(record.HeadPos), Keep: v.Filed.Keep,
		Line: v.Line, Labels: union(labels, v.Labels), OwnLabels: v.Labels,
	}
	if v.Until <= now {
		if v.Until != 0 {
			c.Levels.Level = v.LevelAfter
		}
		c.Levels.Until, c.Levels.After = 0, events.LevelAll
	}
	if !v.Large {
		return c
	}
	c.Counts = Counts{}
	c.Latest = projections.Head{
		MessageID: string(record.Latest.MessageID), Seq: record.Latest.Seq, Pos: record.Latest.Pos, At: record.Latest.At,
		SenderID: string(record.Latest.SenderID), Preview: string(record.Latest.Preview),
	}
	above := max(v.ReadPos, record.PurgedPos)
	if c.Ask = v.Ask || record.HolesFloor > above || record.AllsFloor > above; c.Ask {
		return c
	}
	for pos := above + 1; pos <= record.HeadPos; pos++ {
		if slices.Contains(record.Holes, pos) || slices.Contains(v.Excluded, pos) {
			continue
		}
		c.Unread++
		switch {
		case slices.Contains(v.Mentioned, pos):
			c.Mentions++
			c.DirectMentions++
		case !v.IgnoreAll && slices.Contains(record.Alls, pos):
			c.Mentions++
		}
	}
	return c
}

// CheckLog compares every user's answer as of a time with the log, which must be read to its end.
func (m *Mirror) CheckLog(l *Log, now int64) *Findings { return m.CheckAnswers(l.models, l.Users, now) }

// CheckAnswers compares every user's answer as of a time with the right one.
func (m *Mirror) CheckAnswers(models []*model.Model, users []string, now int64) *Findings {
	f := &Findings{What: "what a reader of the topics derives against the model"}
	for _, user := range append([]string{nobody}, users...) {
		of := &Findings{}
		right := Right(models, user, now, true)
		right.AsDerived()
		m.Answer(user, now).Compare(right, of)
		for _, what := range of.First {
			f.Add("%s: %s", user, what)
		}
		f.Count += max(0, of.Count-len(of.First))
	}
	return f
}
