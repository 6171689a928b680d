package model

import "github.com/tidemark/tidemark/projections"

// trimmed reports whether the log keeps only what counts need of a message. The log times of all
// topics, and that of the channel's head, must have passed the last message of its block, and the
// block must have none of the newest messages.
func (m *Model) trimmed(c *channel, seq uint32) bool {
	seeded := c.seeded()
	if !m.settings.TrimLog || seq <= seeded || len(m.reads) == 0 || len(m.deliveries) == 0 {
		return false
	}
	t := m.timeline()
	last := t.ended(c, seq)
	if last == nil {
		return false
	}
	for _, now := range []int64{t.logTime, m.reads[len(m.reads)-1].now, m.deliveries[len(m.deliveries)-1].now} {
		if t.remembers(last.logTime, now) {
			return false
		}
	}
	return true
}

// event returns which record put a pointer where it is, unless the log has trimmed it.
func (m *Model) event(c *channel, s spot) projections.Event {
	if s.own && m.trimmed(c, s.seq) {
		return projections.Event{Gone: true}
	}
	return s.event
}
