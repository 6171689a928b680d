package model

// remembers reports whether an event knows that a message exists. logTime is the message's, now the
// log time of the event's own topic.
func (t *timeline) remembers(logTime, now int64) bool {
	return !t.settings.TrimLog || now-logTime <= t.settings.IndexRetention+forgetAfter
}

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

// seeded returns how many seeded messages a channel begins with.
func (c *channel) seeded() (n uint32) {
	for _, p := range c.posts {
		if p.seeded {
			n++
		}
	}
	return n
}

// ended returns the last message of a message's block of the log if the channel lets its log end
// there, and nil otherwise: the log time of the channel's head has passed that message, and the
// newest messages are in no such block.
func (t *timeline) ended(c *channel, seq uint32) *post {
	seeded := c.seeded()
	if seq <= seeded {
		return nil
	}
	end := seeded + (seq-seeded+blockLen-1)/blockLen*blockLen
	if end+kept > c.head() || t.remembers(c.at(end).logTime, c.at(c.head()).logTime) {
		return nil
	}
	return c.at(end)
}

// told returns the time that answers state for a message.
func (t *timeline) told(c *channel, p *post) int64 {
	if last := t.ended(c, p.seq); last != nil {
		return last.time
	}
	return p.time
}

// upTo returns the last message of seen, which is a prefix of the channel, whose time is at or
// before a time, for an event at log time now of its own topic. Where the event does not remember
// the message after that, the log may have only the time of its block: then it is the last message
// before that block.
func (t *timeline) upTo(c *channel, seen []*post, time, now int64) uint32 {
	seq := lastSeq(seen, func(p *post) bool { return p.time <= time })
	if seeded := c.seeded(); seq >= seeded && seq < c.head() && !t.remembers(c.at(seq+1).logTime, now) {
		return seeded + (seq-seeded)/blockLen*blockLen
	}
	return seq
}
