package model

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

type channel struct {
	posts    []*post            // posts[i] has seq i+1
	named    map[string][]*post // those with an id, in order
	member   map[string]bool    // false: was a member and left; absent: never was one
	baseline map[string]uint32  // of members
	spans    map[string][]span  // memberships of everybody who ever was a member, in order
	floor    uint32             // everything up to this seq was purged
	large    bool
	deleted  bool
	labels   []string // of channel_updated, sorted
	archived bool     // for everybody
	lastM    int64    // next offset after the channel's last record
}

// post is one message after all edits and deletions.
type post struct {
	seq                 uint32
	id, sender, preview string
	thread              string // the thread that it replies in; empty = top level
	reply, broadcast    bool   // reply: it names a thread
	silent              bool
	seeded              bool // by messages_seeded: without a sender and an id
	small               bool // it has its own receipts: the channel was small when it was posted
	mentions            []string
	mentionedEver       []string // everybody whom it or an edit of it ever mentioned
	all                 bool
	hiddenFrom          []string      // users for whom the message does not exist
	marksRead           events.Choice // instead of the setting
	deleted             bool
	time                int64 // the latest occurred_at of the channel's messages up to this one
	logTime             int64 // of the partition right after this message's record
	offset              int64
}

// inChannel reports whether the message belongs to the channel's own scope, and not only to a
// thread.
func (p *post) inChannel() bool { return !p.reply || p.broadcast }

// counted reports whether the message is of a kind that counts for unread, deleted or not.
func (p *post) counted() bool { return !p.silent && p.inChannel() }

// replyIn reports whether the message is a visible reply in the thread, not a silent one.
func (p *post) replyIn(thread string) bool { return p.thread == thread && !p.silent }

// mentionsUser reports whether the message mentions the user by name.
func (p *post) mentionsUser(user string) bool {
	return slices.Contains(p.mentions, user) && !p.hiddenTo(user)
}

// hiddenTo reports whether the message does not exist for the user (DESIGN §4.7). It always exists
// for its sender.
func (p *post) hiddenTo(user string) bool {
	return user != p.sender && slices.Contains(p.hiddenFrom, user)
}

// reads reports whether posting reads up to the message: as the producer stated, or else as the
// setting says.
func (p *post) reads(settings projections.Settings) bool {
	return p.marksRead.Or(settings.SendMarksRead)
}

// setLarge makes a channel large above the limit and small again at 80 % of it (DESIGN §2).
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

// at returns the message with this seq, nil if there is none.
func (c *channel) at(seq uint32) *post {
	if seq == 0 || seq > c.head() {
		return nil
	}
	return c.posts[seq-1]
}

// pos returns the running count of counted messages at seq.
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

// latest returns the newest live counted message, nil if there is none. It never returns a seeded
// one.
func (c *channel) latest() *post {
	for _, p := range slices.Backward(c.posts) {
		if p.counted() && c.live(p) && !p.seeded {
			return p
		}
	}
	return nil
}

// lastSeq returns the largest seq of a message for which ok returns true, 0 if there is none.
func lastSeq(posts []*post, ok func(*post) bool) uint32 {
	for _, p := range slices.Backward(posts) {
		if ok(p) {
			return p.seq
		}
	}
	return 0
}
