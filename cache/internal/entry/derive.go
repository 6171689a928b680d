package entry

import (
	"slices"

	"github.com/tidemark/tidemark/events"
)

// parsed sets the fields that follow from the members of a delta.
func (e *Entry) parsed() {
	if !e.Known {
		e.forget()
	}
	e.Labels = e.OwnLabels
	e.exceptions.IgnoreAll, e.exceptions.Ask = e.IgnoreAll, e.Ask
}

// forget marks the counts as unknown.
func (e *Entry) forget() {
	e.Known, e.Unread, e.Mentions, e.DirectMentions = false, 0, 0, 0
}

// Judge sets the level to that of a time, in Unix milliseconds.
func (e *Entry) Judge(now int64) {
	e.Levels = e.Levels.At(now)
	e.Muted = e.Levels.Level == events.LevelNone
}

// Settle completes the entry from the channel's record c; nil: there is none. It derives the counts
// of a large channel, and whether the user's filing still holds.
func (e *Entry) Settle(c *Channel) {
	filing := e.Filed.Is && !e.Filed.Keep // a message can end it
	if c == nil {
		if e.Archived = e.Filed.Is && e.Filed.Keep; filing {
			e.forget()
		}
		return
	}
	e.Archived = c.Archived || e.Filed.Holds(c.HeadPos) && !(filing && e.Ask)
	e.Labels = union(c.Labels, e.OwnLabels)
	if e.Large {
		e.LatestAt = c.LatestAt
		var n events.Counts
		n, e.Known = c.Count(&e.exceptions)
		e.Unread, e.Mentions, e.DirectMentions = n.Unread, n.Mentions, n.Direct
	}
}

// Unsettled is Settle if Redis has no channel records at all. updated: some channels have labels or
// are archived, and this one may be among them.
func (e *Entry) Unsettled(updated bool) {
	if e.Settle(nil); updated {
		e.forget()
	}
}

// union returns the labels of both lists, ascending.
func union(a, b []string) []string {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
