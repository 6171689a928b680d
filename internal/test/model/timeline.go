package model

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// timeline is the state of all channels after replaying chat.messages (DESIGN §4.1).
type timeline struct {
	settings projections.Settings
	logTime  int64 // of chat.messages
	channels map[string]*channel
}

// replay applies all records of chat.messages in order.
func replay(records []messageRecord, settings projections.Settings) *timeline {
	t := &timeline{settings: settings, channels: map[string]*channel{}}
	for i := range records {
		r := &records[i]
		t.logTime = r.logTime
		c := t.channels[string(r.event.ChannelID)]
		if c == nil {
			c = &channel{member: map[string]bool{}, baseline: map[string]uint32{}, spans: map[string][]span{}, named: map[string][]*post{}}
			t.channels[string(r.event.ChannelID)] = c
		}
		if c.deleted {
			continue // a deleted channel stays deleted
		}
		c.lastM = r.offset + 1
		t.apply(c, r)
		c.setLarge(settings.FanoutLimit)
	}
	return t
}

func (t *timeline) apply(c *channel, r *messageRecord) {
	e := &r.event
	switch e.Kind {
	case events.KindMessagePosted:
		t.post(c, r)
	case events.KindMessageEdited:
		if p := t.find(c, e.MessageID, t.logTime); p != nil {
			p.preview = string(e.Preview)
			if !e.KeepMentions {
				p.mentions, p.all = texts(e.IDs), e.MentionAll
				if !p.deleted {
					p.mentionedEver = append(p.mentionedEver, p.mentions...)
				}
			}
		}
	case events.KindMessageDeleted:
		if p := t.named(c, e.MessageID, e.Seq, t.logTime); p != nil {
			p.deleted = true
		}
	case events.KindMessagesSeeded:
		t.seed(c, r)
	case events.KindMessagesPurged:
		c.floor = max(c.floor, t.purgeTarget(c, e))
	case events.KindMembersJoined:
		for _, user := range texts(e.IDs) {
			if c.member[user] {
				continue
			}
			c.member[user] = true
			c.spans[user] = append(c.spans[user], span{from: c.head(), open: true})
			c.baseline[user] = c.head()
			if e.CountHistory {
				c.baseline[user] = 0
			}
		}
	case events.KindMembersLeft:
		for _, user := range texts(e.IDs) {
			if c.member[user] {
				c.member[user] = false
				delete(c.baseline, user)
				last := &c.spans[user][len(c.spans[user])-1]
				last.to, last.open = c.head(), false
			}
		}
	case events.KindChannelUpdated:
		c.labels, c.archived = distinct(e.IDs), e.Archived
	case events.KindChannelDeleted:
		c.deleted = true
	}
}

// seed applies messages_seeded: the channel begins with messages that count and have no other
// properties.
func (t *timeline) seed(c *channel, r *messageRecord) {
	if c.head() > 0 {
		return
	}
	for seq := range r.event.Count {
		c.posts = append(c.posts, &post{
			seq: seq + 1, seeded: true, small: c.memberCount() <= t.settings.ReceiptLimit,
			time: r.event.OccurredAt, logTime: t.logTime, offset: r.offset,
		})
	}
}

func (t *timeline) post(c *channel, r *messageRecord) {
	e := &r.event
	if t.find(c, e.MessageID, t.logTime) != nil {
		return // a duplicate
	}
	p := &post{
		seq: c.head() + 1, id: string(e.MessageID), sender: string(e.SenderID), preview: string(e.Preview),
		thread: string(e.ThreadID), reply: len(e.ThreadID) > 0, broadcast: e.Broadcast, silent: e.Silent,
		mentions: texts(e.IDs), mentionedEver: texts(e.IDs), all: e.MentionAll,
		hiddenFrom: texts(e.HiddenFrom), marksRead: e.MarksRead,
		time: e.OccurredAt, logTime: t.logTime, offset: r.offset,
	}
	members := e.MemberCount
	if members == 0 {
		members = c.memberCount()
	}
	p.small = members <= t.settings.ReceiptLimit
	if last := c.at(c.head()); last != nil {
		p.time = max(p.time, last.time)
	}
	c.posts = append(c.posts, p)
	c.named[p.id] = append(c.named[p.id], p)
}

// purgeTarget returns the seq up to which a purge reaches among the messages posted so far.
func (t *timeline) purgeTarget(c *channel, e *events.Message) uint32 {
	switch e.Target {
	case events.TargetMessageID:
		if p := t.find(c, e.MessageID, t.logTime); p != nil {
			return p.seq
		}
	case events.TargetSeq:
		return min(e.Seq, c.head())
	case events.TargetTime:
		return t.upTo(c, c.posts, e.TargetTime, t.logTime)
	}
	return 0
}

// find returns the message that an event names by id, when the log time of the event's own topic is
// now: the oldest one with this id that has not left the index by then (DESIGN §4.6). It returns
// nil if there is none.
func (t *timeline) find(c *channel, id []byte, now int64) *post {
	for _, p := range c.named[string(id)] {
		if now-p.time <= t.settings.IndexRetention {
			return p
		}
	}
	return nil
}

// awaited is find for an event that waits for a missing message until a log time. It does not wait
// if it remembers a message with this id for which it is too late: then the event means a message
// posted up to the log time of its own topic.
func (t *timeline) awaited(c *channel, id []byte, now, until int64) *post {
	for _, p := range c.named[string(id)] {
		if now-p.time > t.settings.IndexRetention && t.remembers(p.logTime, now) {
			until = min(until, now)
		}
	}
	if p := t.find(c, id, now); p != nil && p.logTime <= until {
		return p
	}
	return nil
}

// named returns the message that an event names by id, or by a seq (0 = none). An id in the index
// wins. Otherwise the seq names its message if that is older than the index or seeded, whatever the
// id is.
func (t *timeline) named(c *channel, id []byte, seq uint32, now int64) *post {
	if p := t.find(c, id, now); p != nil {
		return p
	}
	if p := c.at(seq); p != nil && (p.seeded || now-p.time > t.settings.IndexRetention) {
		return p
	}
	return nil
}

func texts(ids [][]byte) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}

// forgetAfter is how much longer than the index a message is remembered: a week (DESIGN §5).
const forgetAfter = lapse
