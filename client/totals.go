package client

import "time"

// LevelAt returns the level of a channel at a time.
func (c *ChannelUnread) LevelAt(now time.Time) Level {
	level := c.Level
	if !c.Until.IsZero() && !now.Before(c.Until) {
		level = c.LevelAfter
	} else if level == "" && c.Muted {
		level = None
	}
	if level == "" {
		return All
	}
	return level
}

// TotalsOf returns the sums over channels and their threads at one time, equal to those of the
// gateway and the query service.
func TotalsOf(channels []ChannelUnread, threads []ThreadUnread, now time.Time) Totals {
	var t Totals
	counted := map[string]Level{}
	for i := range channels {
		c := &channels[i]
		if !c.Member {
			continue
		}
		flag := number(c.Flagged)
		news := number(c.Unread > 0 || c.Flagged)
		if c.Archived {
			t.Archived.UnreadChannels += news
			t.Archived.Mentions += c.Mentions
			continue
		}
		t.Flagged += flag
		level := c.LevelAt(now)
		if level == None {
			continue
		}
		counted[c.ChannelID] = level
		t.Unread += c.Unread
		t.Mentions += c.Mentions
		t.UnreadChannels += news
		t.Badge += max(level.of(c.Unread, c.Mentions), flag)
	}
	for i := range threads {
		r := &threads[i]
		level, ok := counted[r.ChannelID]
		if !ok {
			continue
		}
		t.ThreadUnread += r.Unread
		t.ThreadMentions += r.Mentions
		t.UnreadThreads += number(r.Unread > 0)
		t.Badge += level.of(r.Unread, r.Mentions)
	}
	return t
}

// of returns what a channel or thread of this level adds to the badge.
func (l Level) of(unread, mentions int) int {
	switch l {
	case None:
		return 0
	case Mentions:
		return mentions
	}
	return unread
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}
