package gateway

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/alarm"
)

// entry is one channel of a connected user. After they leave, the entry stays: its stamp keeps
// older deltas from making them a member again.
type entry struct {
	user       *user
	ch         *channel // nil unless the user is a member
	stamp      events.Stamp
	shownM     int64              // the largest offset of chat.messages in a stamp that clients got
	since      int64              // the first offset of chat.messages that they may see; see membership.go
	memberUpTo int64              // how far in chat.messages the newest inbox, delta or join reaches that made them a member
	floorM     int64              // offset after their last leave in chat.messages: deltas that do not include it are ignored
	view       view.View          // the last update; the counts of a large channel are derived
	exceptions *events.Exceptions // from which a large channel is derived; nil: unknown, ask the owner
	firsts     view.Firsts
	threads    view.Threads        // the sum of the threads that they follow here, for the totals
	alarm      alarm.Alarm[*entry] // for when the level changes, in user.timed
	asking     bool                // a question to the owner is in progress
	answered   int64               // how far in chat.messages the newest answer to one reaches that the view is of
	pushed     uint32              // newest seq that was sent in a message.new
	delivered  uint32              // newest seq that was reported as delivered
	reading    *autoRead
	unsettled  int64  // offset after the last read event written here; a stamp that covers it includes the event
	writing    int    // number of such events that are not acknowledged yet
	publicRead string // message of the last public read written here; empty while there is no pointer (command.go)
}

// user is a user with at least one connection here.
type user struct {
	id        string
	hub       *hub // the user's shard, whose lock guards all of this
	conns     []*conn
	entries   map[string]*entry
	threads   map[scope]*thread
	totals    view.Totals
	inboxRead bool                // an inbox has been read
	timed     alarm.Queue[*entry] // entries whose level will change
	alarm     alarm.Alarm[*user]  // for the earliest of timed
	// revoked counts the channels that the timeline removed. An inbox that is being encoded may
	// list one of them.
	revoked int
}

// thread is a thread that a user follows.
type thread struct {
	stamp      events.Stamp
	view       view.View
	publicRead string // as in entry
}

// count adds the counts of a channel and its threads to the totals (sign +1) or subtracts them
// (-1). See change.
func (u *user) count(e *entry, sign int64) {
	if e.ch != nil {
		u.totals.Add(&e.view, &e.threads, sign)
	}
}

// change changes an entry: its membership, counts, level or threads. It keeps the totals right even
// if change panics. Totals are running sums, so a wrong one would stay wrong as long as the user is
// connected.
func (u *user) change(e *entry, change func()) {
	u.count(e, -1)
	defer u.time(e)
	defer u.count(e, +1)
	change()
}

// time updates when the level of an entry will change. Called with the lock, after each change.
func (u *user) time(e *entry) {
	var until int64
	if e.ch != nil {
		until = e.view.Until()
	}
	if until == e.alarm.At() {
		return
	}
	if until == 0 {
		u.timed.Drop(&e.alarm)
	} else {
		e.alarm.Of = e
		u.timed.Put(&e.alarm, until)
	}
	if first, any := u.timed.First(); any {
		u.hub.alarms.Put(&u.alarm, first)
	} else {
		u.hub.alarms.Drop(&u.alarm)
	}
}

// entryOf returns a user's entry of a channel, and creates it if needed.
func (u *user) entryOf(channelID string) *entry {
	e := u.entries[channelID]
	if e == nil {
		e = u.hub.spare.entries.Take()
		e.user = u
		u.entries[channelID] = e
	}
	return e
}

// broadcast sends a frame to every device of u. e or t is the channel or thread of the values in
// the frame; both are nil for other frames. A device whose inbox is being read gets no values: e or
// t is recorded, and its value is sent after the inbox, unless that covers it. Called with the
// lock.
func (u *user) broadcast(it wire.Item, e *entry, t *thread) {
	if u.hub.traced != nil && it.Sent == nil {
		it.Sent = u.hub.traced.Begin("send to a socket")
	}
	for _, c := range u.conns {
		switch {
		case !c.loading:
			c.Send(it)
			u.hub.touch(c)
		case it.Key == "":
			c.Send(it)
		default:
			c.late.add(e, t)
		}
	}
}
