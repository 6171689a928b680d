package gateway

import (
	"github.com/tidemark/tidemark/events"
)

// entry is one channel of a connected user, also one that he left: its stamp keeps older deltas from bringing him back.
type entry struct {
	user   *user
	ch     *channel // nil unless he is a member
	stamp  events.Stamp
	since  int64 // messages before this offset of chat.messages are not for him; see membership.go
	word   int64 // how far the newest inbox or delta reached that said he is a member
	floorM int64 // what chat.messages said last of his membership: deltas that do not include it are ignored
	view   view  // channel, latest and first are those of the last update; of a large channel the counts are derived
	// derived from while the channel is large; nil: not known, ask the owner.
	exceptions *exceptions
	// threads is what the threads that he follows here add to the totals.
	threads   threadSums
	asking    bool   // the owner is being asked
	pushed    uint32 // newest seq that was sent as message.new
	pushedID  string
	delivered uint32 // newest seq that was reported as delivered
	reading   *autoRead
	unsettled int64  // next offset of the last read event that this gateway wrote here: until a stamp covers it, a read may change something
	writing   int    // such events that are not acknowledged yet
	told      string // message of the last public read that this gateway wrote, while he stands somewhere; see command.go
}

// user is somebody with at least one connection here.
type user struct {
	id      string
	conns   []*conn
	entries map[string]*entry
	threads map[scope]*thread
	totals  totals
	known   bool // an inbox has been read
}

// thread is a thread that a user follows.
type thread struct {
	stamp events.Stamp
	view  view
	told  string // as an entry's
}

// threadSums are kept up with every thread that changes: a user may follow thousands, and what is asked for with every
// delta must not cost a look at each.
type threadSums struct{ unread, mentions uint64 }

// add takes a thread out (sign -1) or puts it in (+1). What is not followed adds nothing.
func (s *threadSums) add(v *view, sign int64) {
	if v.member {
		s.unread += uint64(sign * int64(v.unread))
		s.mentions += uint64(sign * int64(v.mentions))
	}
}

// count takes a channel's counts, with its threads, out of the totals (sign -1) or puts them in (+1). Whatever changes
// membership, counts or threads stands between the two: what is taken out must be what was put in.
func (u *user) count(e *entry, sign int64) {
	if e.ch == nil || e.view.muted {
		return
	}
	u.totals.unread += uint64(sign * int64(e.view.unread))
	u.totals.mentions += uint64(sign * int64(e.view.mentions))
	if e.view.unread > 0 {
		u.totals.channels += uint64(sign)
	}
	u.totals.threadUnread += uint64(sign * int64(e.threads.unread))
	u.totals.threadMentions += uint64(sign * int64(e.threads.mentions))
}

// broadcast sends a frame to every device of u. One whose inbox is being read gets values with the inbox, and what is no
// value (a message) behind it.
func (h *hub) broadcast(u *user, it item) {
	for _, c := range u.conns {
		switch {
		case !c.loading:
			c.send(it)
			h.touch(c)
		case it.key == "":
			c.send(it)
		}
	}
}

// applyDelta takes a delta of tidemark.unread. Called with the lock.
func (g *Gateway) applyDelta(u *user, d *events.UnreadDelta) {
	if len(d.ThreadID) > 0 {
		g.applyThread(u, d)
		return
	}
	e := u.entries[string(d.ChannelID)]
	if e != nil && (e.stamp.Dominates(d.Stamp) || d.Stamp.M < e.floorM) {
		return
	}
	if e == nil {
		e = u.entryOf(string(d.ChannelID))
	}
	was := e.view
	wasMember := e.ch != nil
	u.count(e, -1)
	e.stamp = d.Stamp
	v := viewOf(d)
	g.says(u, e, v.channel, d.Member, d.Stamp.M)
	if d.Large && d.Member {
		e.exceptions = newExceptions(d)
		g.deriveInto(e, &v)
	} else {
		e.exceptions = nil
	}
	e.view = v
	if v.last.seq == 0 {
		e.told = ""
	}
	u.count(e, +1)
	g.frameUpdate(u, e, string(d.InstanceID))
	if v.last.seq != was.last.seq && d.Member && wasMember {
		g.framePointer(u, e, string(d.InstanceID))
	}
}

// frameUpdate tells all devices what a channel is now.
func (g *Gateway) frameUpdate(u *user, e *entry, instance string) {
	g.hub.broadcast(u, g.updateItem(u, e, instance))
}

func (g *Gateway) updateItem(u *user, e *entry, instance string) item {
	b := begin(make([]byte, 0, 512), "unread.updated")
	b = e.view.append(b, !g.cfg.PreviewsOff)
	stamp := e.shown()
	b = appendStamp(b, &stamp)
	b = textIf(b, "instance_id", instance)
	b = append(u.totals.append(b), '}')
	return item{key: "u" + e.view.channel, channel: e.view.channel, body: b}
}

// shown is the stamp of what a client is told. What was derived in a large channel is as new as the channel's record,
// which stands in no delta. What came with an inbox has no fold version: it dominates nothing at a client, since the
// gateway has compared already.
func (e *entry) shown() events.Stamp {
	s := e.stamp
	if s.FoldVersion == ofInbox {
		s.FoldVersion = 0
	}
	if e.exceptions != nil && e.ch != nil && e.ch.record != nil {
		s.M = max(s.M, e.ch.record.Stamp.M)
	}
	return s
}

// framePointer tells all devices where the pointer is now; id and time are empty where a mark left none, as in Redis.
func (g *Gateway) framePointer(u *user, e *entry, instance string) {
	b := begin(make([]byte, 0, 192), "read_pointer.updated")
	b = text(b, "channel_id", e.view.channel)
	b = text(b, "last_read_id", e.view.last.id)
	if e.view.last.seq > 0 {
		b = instant(b, "last_read_at", e.view.last.at)
	} else {
		b = text(b, "last_read_at", "")
	}
	b = append(textIf(b, "instance_id", instance), '}')
	g.hub.broadcast(u, item{key: "p" + e.view.channel, channel: e.view.channel, body: b})
}

// applyThread takes a delta of a thread. Called with the lock.
func (g *Gateway) applyThread(u *user, d *events.UnreadDelta) {
	s := scope{string(d.ChannelID), string(d.ThreadID)}
	t := u.threads[s]
	if t != nil && t.stamp.Dominates(d.Stamp) {
		return
	}
	e := u.entryOf(s.channel)
	if d.Stamp.M < e.floorM {
		return
	}
	if t == nil {
		t = &thread{}
		if u.threads == nil {
			u.threads = map[scope]*thread{}
		}
		u.threads[s] = t
	}
	u.count(e, -1)
	e.threads.add(&t.view, -1)
	t.stamp, t.view = d.Stamp, viewOf(d)
	if t.view.last.seq == 0 {
		t.told = ""
	}
	e.threads.add(&t.view, +1)
	u.count(e, +1)
	g.hub.broadcast(u, g.threadItem(u, t, string(d.InstanceID)))
}

func (g *Gateway) threadItem(u *user, t *thread, instance string) item {
	b := begin(make([]byte, 0, 512), "unread.updated")
	b = t.view.append(b, !g.cfg.PreviewsOff)
	stamp := t.stamp
	if stamp.FoldVersion == ofInbox {
		stamp.FoldVersion = 0
	}
	b = appendStamp(b, &stamp)
	b = textIf(b, "instance_id", instance)
	b = append(u.totals.append(b), '}')
	return item{key: "t" + t.view.channel + "\x00" + t.view.thread, channel: t.view.channel, body: b}
}
