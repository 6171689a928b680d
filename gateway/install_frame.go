package gateway

import (
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/gateway/internal/sliced"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/gateway/internal/wire"
)

// frame encodes the channels and threads that the user may still see, without the lock. send adds
// the totals.
func (w *installing) frame() (b []byte) {
	for try := 1; ; try++ {
		w.work.Hold = try > installTries
		revoked := w.u.revoked
		channels, threads := w.visible()
		if w.c.released {
			return nil
		}
		if w.work.Hold {
			return w.encode(channels, threads)
		}
		w.u.hub.mu.Without(func() { b = w.encode(channels, threads) })
		if w.u.revoked == revoked {
			return b
		}
	}
}

func (w *installing) encode(channels, threads []*view.View) []byte {
	return view.Inbox(channels, threads, w.g.cfg.Limits.InboxBytes, !w.g.cfg.PreviewsOff)
}

// visible returns the channels of the inbox that the user has not left since, and the threads in
// their channels.
func (w *installing) visible() (channels, threads []*view.View) {
	for i := range w.in.channels {
		v := &w.in.channels[i]
		e := w.u.entries[v.Channel]
		if stamp := w.g.stampAt(w.in.at, v.Channel); e != nil && stamp.M >= e.floorM {
			channels = append(channels, v)
		}
		if w.work.Step(); w.c.released {
			return nil, nil
		}
	}
	for i := range w.in.threads {
		v := &w.in.threads[i]
		if e := w.u.entries[v.Channel]; v.Member && e != nil && e.ch != nil {
			threads = append(threads, v)
		}
		if w.work.Step(); w.c.released {
			return nil, nil
		}
	}
	return channels, threads
}

// send queues the inbox, then the first late values, then the waiting frames that are not values.
// From here on the connection gets values as they change.
func (w *installing) send(b []byte) {
	c, u := w.c, w.u
	u.inboxRead = true
	at := w.g.judge(u)
	waiting := c.DropValues()
	c.Send(wire.Item{Frame: frames.Ready(append(u.totals.Append(b, at), '}')), Inbox: true})
	w.sendSome(sliced.Steps)
	for _, it := range waiting {
		c.Send(it)
	}
	c.loading = false
}

// sendLate sends the current values of everything that the inbox does not cover.
func (w *installing) sendLate() {
	for w.sendSome(sliced.Steps) && !w.c.released {
		w.u.hub.mu.Yield()
	}
	w.u.hub.touch(w.c)
}

// sendSome sends at most n late values. It reports whether there are more.
func (w *installing) sendSome(n int) bool {
	c, u := w.c, w.u
	for e := range c.late.entries {
		if n--; n < 0 {
			return true
		}
		delete(c.late.entries, e)
		if e.view.Channel != "" {
			c.Send(w.g.updateItem(u, e, ""))
		}
	}
	for s := range c.late.threads {
		if n--; n < 0 {
			return true
		}
		delete(c.late.threads, s)
		if t := u.threads[s]; t != nil {
			c.Send(w.g.threadItem(u, t, ""))
		}
	}
	return false
}
