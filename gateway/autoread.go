package gateway

import "github.com/tidemark/tidemark/events/eventsv1"

// autoRead is the reading, on behalf of a user, of what comes into a channel that he looks at. One event is under way at
// a time; what comes meanwhile is read by the next.
type autoRead struct {
	next  ref // zero: nothing came meanwhile
	epoch uint32
	from  *conn
}

// autoRead reads a message for a user who has its channel or thread focused on some device. It states the epoch that was
// known when he focused it: a mark that he made since, here or elsewhere, has made a newer one, so that nothing is read
// until he looks again. Called with the lock.
func (g *Gateway) autoRead(u *user, e *entry, p *posted) {
	if u.id == p.sender || p.id == "" {
		return
	}
	s := scope{channel: e.view.channel}
	if p.thread != "" && !p.broadcast {
		s.thread = p.thread
	}
	if p.seq > 0 && p.seq <= u.last(e, s).seq {
		return
	}
	for _, c := range u.conns {
		epoch, focused := c.focused[s]
		if !focused || epoch != u.epoch(s) {
			continue
		}
		r := ref{id: p.id, seq: p.seq}
		if s.thread == "" && e.reading != nil {
			e.reading.next, e.reading.epoch, e.reading.from = r, epoch, c
			return
		}
		if s.thread == "" {
			e.reading = &autoRead{}
		}
		g.emitRead(u, e, s, r, epoch, c)
		return
	}
}

// emitRead writes a read. Called with the lock.
func (g *Gateway) emitRead(u *user, e *entry, s scope, r ref, epoch uint32, c *conn) {
	g.metrics.autoReads.Inc()
	ev := g.readEvent(u.id, s.channel, c.instance)
	ev.Kind = &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{
		Target: &eventsv1.ReadUpTo_MessageId{MessageId: r.id}, ThreadId: s.thread, ReadEpoch: epoch,
	}}
	done := u.unsettle(e, s.thread)
	g.produce(g.cfg.Topics.Reads, s.channel, ev, func(_ string, offset int64, err error) {
		g.hub.mu.Lock()
		defer g.hub.mu.Unlock()
		done(offset, err)
		if s.thread != "" || e.reading == nil {
			return
		}
		next := *e.reading
		e.reading.next = ref{}
		// What came meanwhile is read only if he still looks, and has marked nothing.
		if focused, there := next.from.focusedAt(s); next.next.id == "" || !there || focused != next.epoch || next.epoch != u.epoch(s) {
			e.reading = nil
			return
		}
		g.emitRead(u, e, s, next.next, next.epoch, next.from)
	})
}

func (c *conn) focusedAt(s scope) (uint32, bool) {
	if c == nil || c.released {
		return 0, false
	}
	epoch, there := c.focused[s]
	return epoch, there
}
