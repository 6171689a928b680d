package gateway

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/guard"
)

// A level may apply until a time (DESIGN §4.7), and no record announces its end, so the gateway
// evaluates it by its own clock. Each user has a queue of the entries whose level will change, and
// an alarm for the earliest of them, so that one timer of the gateway serves all users. Totals are
// evaluated whenever a frame has them, so that they are of one time even if alarms are late.

// judge changes the levels whose time has passed, and notifies the user's devices. It returns the
// time of the totals now; 0 if they hold at any time. Called with the lock.
func (g *Gateway) judge(u *user) (at int64) {
	if u.timed.Len() == 0 {
		return 0
	}
	at = g.cfg.Now().UnixMilli()
	var due []*entry
	for {
		first, more := u.timed.First()
		if !more || first > at {
			break
		}
		e := u.timed.Take()
		u.change(e, func() { e.view.Judge(at) })
		due = append(due, e)
	}
	for _, e := range due {
		g.frameUpdate(u, e, "")
	}
	return at
}

// ring updates the levels of one user.
func (g *Gateway) ring(u *user) {
	h := u.hub
	err := guard.Do("the judging of levels", func() {
		h.mu.With(func() {
			if h.users[u.id] == u {
				g.judge(u)
			}
		})
	})
	if err != nil {
		g.panicked("levels are judged with the user's next change")(guard.Of(err))
	}
	h.kick()
}

// frameUpdate sends all devices the view of a channel.
func (g *Gateway) frameUpdate(u *user, e *entry, instance string) {
	u.broadcast(g.updateItem(u, e, instance), e, nil)
}

func (g *Gateway) updateItem(u *user, e *entry, instance string) wire.Item {
	at := g.judge(u)
	return wire.Item{Key: "u" + e.view.Channel, Channel: e.view.Secret(), Frame: g.updateFrame(e.view, e.shown(), u.totals, at, instance)}
}

// updateFrame creates an unread.updated for a channel or a thread, with the totals of a time.
func (g *Gateway) updateFrame(v view.View, stamp events.Stamp, sum view.Totals, at int64, instance string) *frames.Frame {
	return frames.Lazy(300+v.Size(), func() []byte {
		b := frames.Begin(make([]byte, 0, 512), "unread.updated")
		b = v.Append(b, !g.cfg.PreviewsOff)
		b = view.AppendStamp(b, &stamp)
		b = frames.TextIf(b, "instance_id", instance)
		return append(sum.Append(b, at), '}')
	})
}

// shown returns the stamp that a client gets. A view from an inbox gets the fold version 0, so that
// it dominates nothing at a client: the gateway has already compared. Counts of a large channel are
// as new as the channel record, which no delta includes. The offset never decreases: a client would
// ignore the update, even if it ended the membership.
func (e *entry) shown() events.Stamp {
	s := e.stamp
	if s.FoldVersion == view.OfInbox {
		s.FoldVersion = 0
	}
	if e.ch != nil && e.ch.Record != nil && (e.exceptions != nil || e.ch.Record.Large) {
		s.M = max(s.M, e.ch.Record.Stamp.M)
	}
	s.M = max(s.M, e.shownM)
	e.shownM = s.M
	return s
}

// framePointer sends the read pointer to all devices: empty if a mark left none, as in Redis.
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

func (g *Gateway) threadItem(u *user, t *thread, instance string) wire.Item {
	at, stamp := g.judge(u), t.stamp
	if stamp.FoldVersion == view.OfInbox {
		stamp.FoldVersion = 0
	}
	return wire.Item{
		Key: "t" + t.view.Channel + "\x00" + t.view.Thread, Channel: t.view.Secret(),
		Frame: g.updateFrame(t.view, stamp, u.totals, at, instance),
	}
}
