package gateway

import (
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/sequence"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// autoRead is the state of the reads that this gateway writes for a user with a focused channel.
// One event is in progress at a time; the next one covers everything that came meanwhile.
type autoRead struct {
	next  view.Ref // zero: nothing came meanwhile
	epoch uint32
	from  *conn
}

// autoRead writes a read of a message for a user who has its channel or thread focused on some
// device. The event has the read epoch of the moment of focusing. If the user has marked something
// as unread since, on any device, the epoch is newer, and nothing is read until they focus the
// channel again. Called with the lock.
func (g *Gateway) autoRead(u *user, e *entry, p *sequence.Message) {
	if u.id == p.Sender || p.ID == "" {
		return
	}
	s := scope{channel: e.view.Channel}
	if p.Thread != "" && !p.Broadcast {
		s.thread = p.Thread
	}
	if p.Seq > 0 && p.Seq <= u.last(e, s).Seq {
		return
	}
	for _, c := range u.conns {
		epoch, focused := c.focused[s]
		if !focused || epoch != u.epoch(s) {
			continue
		}
		r := view.Ref{ID: p.ID, Seq: p.Seq}
		if s.thread == "" && e.reading != nil {
			e.reading.next, e.reading.epoch, e.reading.from = r, epoch, c
			return
		}
		g.emitRead(u, e, s, r, epoch, c)
		if s.thread == "" { // set last, so that nothing is in progress after a panic; the answer waits for the lock
			e.reading = &autoRead{}
		}
		return
	}
}

// emitRead writes the event of a read. Called with the lock.
func (g *Gateway) emitRead(u *user, e *entry, s scope, r view.Ref, epoch uint32, c *conn) {
	g.metrics.autoReads.Inc()
	ev := g.readEvent(u.id, s.channel, c.Instance)
	ev.Kind = &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{
		Target: &eventsv1.ReadUpTo_MessageId{MessageId: r.ID}, ThreadId: s.thread, ReadEpoch: epoch,
	}}
	done := e.unsettle()
	g.produce(c.Context(), g.cfg.Topics.Reads, s.channel, ev, func(_ string, offset int64, err error) {
		u.hub.mu.Lock()
		defer u.hub.mu.Unlock()
		done(offset, err)
		if s.thread != "" || e.reading == nil {
			return
		}
		next := *e.reading
		e.reading = nil
		// Messages that came meanwhile are read only if the channel is still focused and nothing
		// was marked.
		if focused, there := next.from.focusedAt(s); next.next.ID == "" || !there || focused != next.epoch || next.epoch != u.epoch(s) {
			return
		}
		g.emitRead(u, e, s, next.next, next.epoch, next.from)
		e.reading = &autoRead{}
	})
}

func (c *conn) focusedAt(s scope) (uint32, bool) {
	if c == nil || c.released {
		return 0, false
	}
	epoch, there := c.focused[s]
	return epoch, there
}
