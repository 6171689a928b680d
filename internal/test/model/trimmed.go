package model

import "github.com/tidemark/tidemark/projections"

// rootOf returns the root of a thread: the oldest message with the thread's id that the first reply
// remembers, or that comes after it. Without a reply it is the oldest that chat.messages remembers
// now.
func (t *timeline) rootOf(c *channel, thread string) *post {
	now, first := t.logTime, c.head()+1
	for _, p := range c.posts {
		if p.replyIn(thread) {
			now, first = p.logTime, p.seq
			break
		}
	}
	for _, p := range c.posts {
		if p.id == thread && (p.seq >= first || t.remembers(p.logTime, now)) {
			return p
		}
	}
	return nil
}

// blockLen is how many messages a block of the log has.
const blockLen = 16

// trimmed reports whether the log keeps only what counts need of a message. The log times of all
// topics, and that of the channel's head, must have passed the last message of its block, and the
// block must have none of the newest messages.
func (m *Model) trimmed(c *channel, seq uint32) bool {
	seeded := uint32(0)
	for _, p := range c.posts {
		if p.seeded {
			seeded++
		}
	}
	if !m.settings.TrimLog || seq <= seeded || len(m.reads) == 0 || len(m.deliveries) == 0 {
		return false
	}
	end := seeded + (seq-seeded+blockLen-1)/blockLen*blockLen
	if end+kept > c.head() {
		return false
	}
	t, last := m.timeline(), c.at(end).logTime
	for _, now := range []int64{t.logTime, m.reads[len(m.reads)-1].now, m.deliveries[len(m.deliveries)-1].now, c.at(c.head()).logTime} {
		if t.remembers(last, now) {
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
