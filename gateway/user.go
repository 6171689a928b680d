package gateway

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/alarm"
)

// entry is one channel of a connected user. A channel that they left keeps its entry, whose stamp
// keeps older deltas from making them a member again.
type entry struct {
	user       *user
	ch         *channel // nil unless they are a member
	stamp      events.Stamp
	since      int64     // the first offset of chat.messages whose message is for them; see membership.go
	memberUpTo int64     // the newest inbox, delta or join by which they are a member includes chat.messages up to here
	floorM     int64     // next offset after their last leave in chat.messages: deltas that do not include it are ignored
	view       view.View // of the last update; the counts of a large channel are derived
	// exceptions are those from which the counts of a large channel are derived; nil: not known,
	// ask the owner.
	exceptions *events.Exceptions
	firsts     view.Firsts
	// threads is what the threads that they follow here add to the totals.
	threads    view.Threads
	until      int64 // when the level changes, if the entry is in user.timed; 0: it is not
	alarm      alarm.Alarm[*entry]
	asking     bool   // the owner is being asked
	pushed     uint32 // newest seq that was sent in a message.new
	pushedID   string
	delivered  uint32 // newest seq that was reported as delivered
	reading    *autoRead
	unsettled  int64  // next offset after the last read event that this gateway wrote here: the view includes it only when the stamp covers it
	writing    int    // how many such events are not acknowledged yet
	publicRead string // message of the last public read that this gateway wrote; empty while their pointer is nowhere; see command.go
}

// user is somebody with at least one connection here.
type user struct {
	id        string
	hub       *hub // the shard of this user, whose lock guards all of this
	conns     []*conn
	entries   map[string]*entry
	threads   map[scope]*thread
	totals    view.Totals
	inboxRead bool                // an inbox has been read
	timed     alarm.Queue[*entry] // entries whose level will change
	alarm     alarm.Alarm[*user]  // for the earliest of timed
	// revoked counts the channels that the timeline took away. An inbox that is being encoded may
	// list one of them.
	revoked int
}

// thread is a thread that a user follows.
type thread struct {
	stamp      events.Stamp
	view       view.View
	publicRead string // as in entry
}

// count subtracts a channel's counts and those of its threads from the totals (sign -1) or adds
// them (+1). See change.
func (u *user) count(e *entry, sign int64) {
	if e.ch != nil {
		u.totals.Add(&e.view, &e.threads, sign)
	}
}

// change changes an entry: its membership, counts, level or threads. It keeps the totals right,
// even if change panics: they are sums, and a sum that is wrong once stays wrong for as long as the
// user is connected.
func (u *user) change(e *entry, change func()) {
	u.count(e, -1)
	defer u.time(e)
	defer u.count(e, +1)
	change()
}

// broadcast sends a frame to every device of u. A device whose inbox is being read gets no values,
// but e or t is noted, of which the frame tells the counts, and follows the inbox unless that
// covers it; both are nil for all other frames. Called with the lock.
func (u *user) broadcast(it wire.Item, e *entry, t *thread) {
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

// applyDelta applies a delta of tidemark.unread. Called with the lock.
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
	v := view.OfDelta(d)
	u.change(e, func() {
		g.applyMembership(u, e, v.Channel, d.Member, d.Stamp.M)
		g.plant("delta")
		e.exceptions = nil
		if !d.Large {
			e.firsts = view.Firsts{}
		}
		if d.Large && d.Member {
			if !d.Ask {
				e.exceptions = exceptionsOf(d)
			}
			g.deriveInto(e, &v)
		}
		v.Judge(g.cfg.Now().UnixMilli())
		g.complete(e, &v, d.Latest.Pos, false)
		e.stamp, e.view = d.Stamp, v // together: a stamp without its view would keep out the inbox that has the view
		if v.Last.Seq == 0 {
			e.publicRead = ""
		}
	})
	g.frameUpdate(u, e, string(d.InstanceID))
	if v.Last.Seq != was.Last.Seq && d.Member && wasMember {
		g.framePointer(u, e, string(d.InstanceID))
	}
}

// frameUpdate sends all devices the view of a channel.
func (g *Gateway) frameUpdate(u *user, e *entry, instance string) {
	u.broadcast(g.updateItem(u, e, instance), e, nil)
}

func (g *Gateway) updateItem(u *user, e *entry, instance string) wire.Item {
	at := g.judge(u)
	return wire.Item{Key: "u" + e.view.Channel, Channel: e.view.Channel, Frame: g.updateFrame(e.view, e.shown(), u.totals, at, instance)}
}

// updateFrame makes an unread.updated, for a channel or a thread, with the totals of a time.
func (g *Gateway) updateFrame(v view.View, stamp events.Stamp, sum view.Totals, at int64, instance string) *frames.Frame {
	return frames.Lazy(300+v.Size(), func() []byte {
		b := frames.Begin(make([]byte, 0, 512), "unread.updated")
		b = v.Append(b, !g.cfg.PreviewsOff)
		b = view.AppendStamp(b, &stamp)
		b = frames.TextIf(b, "instance_id", instance)
		return append(sum.Append(b, at), '}')
	})
}

// shown returns the stamp that a client gets. Counts that were derived in a large channel are as
// new as the channel's record, which no delta includes. A view from an inbox gets the fold version
// 0, so that it dominates nothing at a client: the gateway has compared already.
func (e *entry) shown() events.Stamp {
	s := e.stamp
	if s.FoldVersion == view.OfInbox {
		s.FoldVersion = 0
	}
	if e.exceptions != nil && e.ch != nil && e.ch.Record != nil {
		s.M = max(s.M, e.ch.Record.Stamp.M)
	}
	return s
}

// framePointer sends all devices the read pointer. Its id and time are empty if a mark left no
// pointer, as in Redis.
func (g *Gateway) framePointer(u *user, e *entry, instance string) {
	channelID, last := e.view.Channel, e.view.Last
	f := frames.Lazy(120+len(channelID)+len(last.ID), func() []byte {
		b := frames.Begin(make([]byte, 0, 192), "read_pointer.updated")
		b = frames.Text(b, "channel_id", channelID)
		b = frames.Text(b, "last_read_id", last.ID)
		if last.Seq > 0 {
			b = frames.Instant(b, "last_read_at", last.At)
		} else {
			b = frames.Text(b, "last_read_at", "")
		}
		return append(frames.TextIf(b, "instance_id", instance), '}')
	})
	u.broadcast(wire.Item{Key: "p" + channelID, Channel: channelID, Frame: f}, nil, nil)
}

// applyThread applies a delta of a thread. Called with the lock.
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
	v := view.OfDelta(d)
	if g.expired(d) {
		v.Unlist()
	}
	g.plant("thread")
	u.change(e, func() {
		e.threads.Add(&t.view, -1)
		t.stamp, t.view = d.Stamp, v
		e.threads.Add(&t.view, +1)
	})
	if v.Last.Seq == 0 {
		t.publicRead = ""
	}
	u.broadcast(g.threadItem(u, t, string(d.InstanceID)), nil, t)
}

func (g *Gateway) threadItem(u *user, t *thread, instance string) wire.Item {
	at, stamp := g.judge(u), t.stamp
	if stamp.FoldVersion == view.OfInbox {
		stamp.FoldVersion = 0
	}
	return wire.Item{
		Key: "t" + t.view.Channel + "\x00" + t.view.Thread, Channel: t.view.Channel,
		Frame: g.updateFrame(t.view, stamp, u.totals, at, instance),
	}
}
