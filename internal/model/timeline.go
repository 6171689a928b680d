package model

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// timeline is the state of all channels after all of chat.messages (DESIGN §4.1).
type timeline struct {
	settings projections.Settings
	logTime  int64 // the latest occurred_at of any record, of whatever kind and effect
	channels map[string]*channel
}

type channel struct {
	posts    []*post           // posts[i] has seq i+1
	member   map[string]bool   // false: was a member and left; absent: never was one
	baseline map[string]uint32 // of members
	spans    map[string][]span // memberships of whoever was a member, in order
	floor    uint32            // everything up to this seq was purged
	large    bool
	deleted  bool
	lastM    int64 // next offset after the channel's last record
}

// post is one message, as it stands after all edits and deletions.
type post struct {
	seq                 uint32
	id, sender, preview string
	thread              string // that it is a reply in; empty = top level
	reply, broadcast    bool   // reply: it names a thread
	silent              bool
	small               bool // it has receipts of its own: few members when it was posted
	mentions            []string
	mentionedEver       []string // whom it or any edit of it mentioned while it was there
	all                 bool
	deleted             bool
	time                int64 // the latest occurred_at of the channel's messages up to this one
	logTime             int64 // of the partition right after this message's record
	offset              int64
}

// inChannel reports whether the message belongs to the channel's own scope rather than to a thread's only.
func (p *post) inChannel() bool { return !p.reply || p.broadcast }

// counted reports whether the message is of a kind that counts for unread, whatever became of it.
func (p *post) counted() bool { return !p.silent && p.inChannel() }

// mentionsUser reports whether the message mentions the user by name.
func (p *post) mentionsUser(user string) bool { return slices.Contains(p.mentions, user) }

// replay takes all records of chat.messages in order.
func replay(records []messageRecord, settings projections.Settings) *timeline {
	t := &timeline{settings: settings, channels: map[string]*channel{}}
	for i := range records {
		r := &records[i]
		t.logTime = max(t.logTime, r.event.OccurredAt)
		c := t.channels[string(r.event.ChannelID)]
		if c == nil {
			c = &channel{member: map[string]bool{}, baseline: map[string]uint32{}, spans: map[string][]span{}}
			t.channels[string(r.event.ChannelID)] = c
		}
		if c.deleted {
			continue // for good
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
		if p := t.find(c, e.MessageID, t.logTime); p != nil {
			p.deleted = true
		} else if p := c.at(e.Seq); p != nil && p.id == string(e.MessageID) && t.logTime-p.time > t.settings.IndexRetention {
			p.deleted = true
		}
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
	case events.KindChannelDeleted:
		c.deleted = true
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
}

// purgeTarget is the seq up to which a purge reaches: of what is there at that point.
func (t *timeline) purgeTarget(c *channel, e *events.Message) uint32 {
	switch e.Target {
	case events.TargetMessageID:
		if p := t.find(c, e.MessageID, t.logTime); p != nil {
			return p.seq
		}
	case events.TargetSeq:
		return min(e.Seq, c.head())
	case events.TargetTime:
		return lastSeq(c.posts, func(p *post) bool { return p.time <= e.TargetTime })
	}
	return 0
}

// find is the message that an event names by id when the log time of the event's own topic is now: the oldest with this
// id that has not left the index then (DESIGN §4.6). It is nil if there is none.
func (t *timeline) find(c *channel, id []byte, now int64) *post {
	for _, p := range c.posts {
		if p.id == string(id) && now-p.time <= t.settings.IndexRetention {
			return p
		}
	}
	return nil
}

// setLarge turns a channel large above the limit and small again at 80 % of it (DESIGN §2).
func (c *channel) setLarge(limit uint32) {
	switch n := uint64(c.memberCount()); {
	case limit == 0 || n > uint64(limit):
		c.large = true
	case n*100 <= uint64(limit)*80:
		c.large = false
	}
}

func (c *channel) memberCount() uint32 {
	n := uint32(0)
	for _, is := range c.member {
		if is {
			n++
		}
	}
	return n
}

func (c *channel) head() uint32 { return uint32(len(c.posts)) }

// at is the message with this seq, nil if there is none.
func (c *channel) at(seq uint32) *post {
	if seq == 0 || seq > c.head() {
		return nil
	}
	return c.posts[seq-1]
}

// pos is the running count of counted messages at seq.
func (c *channel) pos(seq uint32) uint32 {
	n := uint32(0)
	for _, p := range c.posts[:seq] {
		if p.counted() {
			n++
		}
	}
	return n
}

// live reports whether the message was neither deleted nor purged.
func (c *channel) live(p *post) bool { return !p.deleted && p.seq > c.floor }

// latest is the newest live counted message, nil if there is none.
func (c *channel) latest() *post {
	for _, p := range slices.Backward(c.posts) {
		if p.counted() && c.live(p) {
			return p
		}
	}
	return nil
}

// lastSeq is the largest seq of a message for which ok holds, 0 if there is none.
func lastSeq(posts []*post, ok func(*post) bool) uint32 {
	for _, p := range slices.Backward(posts) {
		if ok(p) {
			return p.seq
		}
	}
	return 0
}

func texts(ids [][]byte) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}
