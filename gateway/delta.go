package gateway

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// applyDelta applies a delta of tidemark.unread. Called with the lock.
func (g *Gateway) applyDelta(u *user, d *events.UnreadDelta) {
	if len(d.ThreadID) > 0 {
		g.applyThread(u, d)
		return
	}
	e := u.entryOf(string(d.ChannelID))
	if e.stamp.Dominates(d.Stamp) || e.left(d) {
		return
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
		e.stamp, e.view = d.Stamp, v // set together: a stamp without its view would keep out the inbox with that view
		if v.Last.Seq == 0 {
			e.publicRead = ""
		}
	})
	g.frameUpdate(u, e, string(d.InstanceID))
	if v.Last.Seq != was.Last.Seq && d.Member && wasMember {
		g.framePointer(u, e, string(d.InstanceID))
	}
}

// applyThread applies a delta of a thread. Called with the lock.
func (g *Gateway) applyThread(u *user, d *events.UnreadDelta) {
	s := scope{string(d.ChannelID), string(d.ThreadID)}
	t := u.threads[s]
	if t != nil && t.stamp.Dominates(d.Stamp) {
		return
	}
	e := u.entryOf(s.channel)
	if d.Member && e.left(d) {
		return // the end of a thread is sent, even to a user who is back: no later delta may name the thread
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
