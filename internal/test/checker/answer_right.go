package checker

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

// Right returns the right answer for a user as of a time in Unix milliseconds, computed by the
// models of the partitions. With always, threads stay listed permanently.
func Right(models []*model.Model, user string, now int64, always bool) *Answer {
	a := &Answer{Channels: map[string]Channel{}, Threads: map[ThreadID]Thread{}, ByLabel: map[string]model.Totals{}, touched: map[ThreadID]int64{}}
	for _, m := range models {
		a.addPartition(m, user, now, always)
	}
	for _, label := range append(a.labels(), "") {
		var sum model.Totals
		for _, m := range models {
			add(&sum, m.Totals(user, label, now, always))
		}
		if label == "" {
			a.Totals = sum
		} else {
			a.ByLabel[label] = sum
		}
	}
	return a
}

// Right returns the right answer for a user as of the time of the log's last record. Its totals are
// the sums of its parts, because the model takes long for the totals of a long log.
func (l *Log) Right(user string) *Answer {
	a := &Answer{Channels: map[string]Channel{}, Threads: map[ThreadID]Thread{}, ByLabel: map[string]model.Totals{}, touched: map[ThreadID]int64{}}
	for _, m := range l.models {
		a.addPartition(m, user, l.now, false)
	}
	a.sum()
	return a
}

// sum sets the totals to the sums of the answer's own parts.
func (a *Answer) sum() {
	clear(a.ByLabel)
	a.Totals, _ = a.Sum("")
	for _, label := range a.labels() {
		a.ByLabel[label], _ = a.Sum(label)
	}
}

func (a *Answer) addPartition(m *model.Model, user string, now int64, always bool) {
	a.ends = a.ends || m.Ends()
	listed := map[ThreadID]bool{}
	if !always {
		for _, t := range m.ThreadList(user) {
			listed[ThreadID{t.ChannelID, t.ThreadID}] = true
		}
	}
	for _, id := range m.Channels() {
		v, ok := m.View(user, id)
		if !ok || !v.Member {
			continue
		}
		a.Channels[id] = rightOf(m, &v, now)
		for _, thread := range m.Threads(id) {
			if t, followed := threadOf(m, user, id, thread); followed {
				t.Listed = always || listed[ThreadID{id, thread}]
				if v, ok := m.Thread(user, id, thread); ok && t.Listed {
					a.touched[ThreadID{id, thread}] = v.TouchedAt
				}
				a.Threads[ThreadID{id, thread}] = t
			}
		}
	}
}

// rightOf returns the right answer about the channel of a view.
func rightOf(m *model.Model, v *projections.View, now int64) Channel {
	c := Channel{
		Counts: countsOf(v), Place: placeOf(v),
		OfflineUnread: v.OfflineUnread, Large: v.Large,
		Levels:    events.Levels{Level: model.LevelAt(v, now)},
		IgnoreAll: v.IgnoreAll, Flagged: v.Flagged, Archived: v.Archived, Keep: v.Filed.Keep,
		Line: v.Line, Labels: union(v.ChannelLabels, v.Labels), OwnLabels: v.Labels,
		open: m.OpenInTime(v.UserID, v.ChannelID, ""),
	}
	head, _ := m.Channel(v.ChannelID)
	c.mayAsk = v.Ask || (v.Large && head.HeadPos >= events.MaxListed) // a cut list
	if v.Until > now {
		c.Levels.Until, c.Levels.After = v.Until, v.LevelAfter
	}
	c.known = v.LineKnown
	return c
}

// AsDerived clears the fields that neither a delta nor a channel record has: the first unread
// message and the first mention of a large channel.
func (a *Answer) AsDerived() {
	for id, c := range a.Channels {
		if c.Large {
			c.FirstUnread, c.FirstMention = projections.Ref{}, projections.Ref{}
		}
		c.known = projections.Ref{}
		a.Channels[id] = c
	}
}

// AsAnswered turns a right answer into the query service's. It adds what no delta has: the other
// half of a line, and the place of a pointer under an open time target. It removes what the service
// does not answer: whether a channel is large, and threads that are too old to be listed.
func (a *Answer) AsAnswered() {
	for id, c := range a.Channels {
		c.Line, c.known, c.open, c.mayAsk, c.Large, c.Latest.Pos = c.known, projections.Ref{}, false, false, false, 0
		a.Channels[id] = c
	}
	for id, t := range a.Threads {
		if t.open, t.Latest.Pos = false, 0; t.Listed {
			a.Threads[id] = t
		} else {
			delete(a.Threads, id)
		}
	}
}

func threadOf(m *model.Model, user, channel, id string) (t Thread, followed bool) {
	v, ok := seen(m, user, channel, id)
	if !ok || !v.Member {
		return t, false
	}
	return Thread{Counts: countsOf(&v), Place: placeOf(&v), open: m.OpenInTime(user, channel, id)}, true
}

func add(to *model.Totals, t model.Totals) {
	to.Unread += t.Unread
	to.Mentions += t.Mentions
	to.UnreadChannels += t.UnreadChannels
	to.ThreadUnread += t.ThreadUnread
	to.ThreadMentions += t.ThreadMentions
	to.UnreadThreads += t.UnreadThreads
	to.Badge += t.Badge
	to.Flagged += t.Flagged
	to.ArchivedChannels += t.ArchivedChannels
	to.ArchivedMentions += t.ArchivedMentions
}
