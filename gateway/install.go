package gateway

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/sliced"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// installTries is how often an inbox is encoded again because the user was removed from a channel
// meanwhile. The next attempt holds the lock.
const installTries = 5

// installing is an inbox that is installed in slices, each under the lock of the user's hub.
// Changes between two slices are recorded as late, and their values are sent after the inbox.
type installing struct {
	g    *Gateway
	c    *conn
	u    *user
	in   *inbox
	work sliced.Work
}

// install makes an inbox the user's state and sends it, followed by the values that it does not
// cover. If reread is true and the inbox may lack something that nothing else will bring, install
// sends nothing and returns how far the inbox must reach when it is read once more.
func (g *Gateway) install(c *conn, in *inbox, reread bool) (after []string) {
	in.unique()
	h := c.user.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &installing{g: g, c: c, u: c.user, in: in, work: sliced.Work{Mutex: &h.mu}}
	after = w.register()
	switch {
	case c.released:
		return nil
	case reread && len(after) > 0:
		return after
	}
	listed := w.channels()
	confirm := w.unlisted(listed)
	w.threads()
	b := w.frame()
	if c.released {
		return nil
	}
	w.send(b)
	if c.reloads > 0 || confirm || c.confirm {
		c.reloads = 0
		c.startLoad()
	}
	h.touch(c)
	w.sendLate()
	return nil
}

// unique removes repeated channels, which moved from one page to the next while the inbox was read.
// The first one stays.
func (in *inbox) unique() {
	seen := make(map[string]bool, len(in.channels))
	in.channels = slices.DeleteFunc(in.channels, func(v view.View) bool {
		was := seen[v.Channel]
		seen[v.Channel] = true
		return was
	})
}

// register makes the user a member of all channels of an inbox that are new to them. From then on
// the feed's records reach them. The inbox lacks something if the feed has already passed it in a
// channel that is new to this user: if their shard had no such channel, the records were skipped;
// if it had, other members may have got records beyond the inbox. Then register returns how far the
// inbox must reach when it is read once more, and otherwise nil.
func (w *installing) register() (after []string) {
	g, u, in := w.g, w.u, w.in
	passed := map[int32]int64{} // how far the inbox must reach, by partition
	large := len(in.channels) > sliced.Steps
	if large {
		defer u.hub.spare.clear()
	}
	for i := range in.channels {
		w.work.Step()
		if large && i%sliced.Steps == 0 {
			u.hub.spare.fill(&u.hub.mu)
		}
		if w.c.released {
			return nil
		}
		id := in.channels[i].Channel
		e := u.entryOf(id)
		p := events.PartitionOf([]byte(id), g.cfg.Partitions)
		s := in.at[p]
		admitted := e.ch != nil && e.since != unconfirmed
		if s.M < e.floorM || (e.stamp != (events.Stamp{}) && (admitted || !view.Covers(&s, &e.stamp))) {
			continue
		}
		known := u.hub.channels[id]
		if e.ch != nil || known != nil && known.Record == nil {
			known = nil // this user is the first member here, or only memberships are known
		}
		u.change(e, func() {
			if e.view.Channel = id; !admitted { // else the timeline has, and nothing has brought the counts yet
				g.applyMembership(u, e, id, true, s.M)
			}
		})
		reach := max(g.seen[p].Load(), g.reached[p].Load()) // read only after applyMembership: see interest
		if known != nil {
			reach = known.Reach()
		}
		passed[p] = max(passed[p], reach)
	}
	for p, reach := range passed {
		if reach > in.at[p].M {
			after = g.passed(after, p, max(reach, g.seen[p].Load(), g.reached[p].Load()))
		}
	}
	return after
}

// channels replaces the entries that the inbox covers. It returns which channels the inbox lists.
func (w *installing) channels() (listed map[string]bool) {
	g, u := w.g, w.u
	listed = make(map[string]bool, len(w.in.channels))
	for i := range w.in.channels {
		if w.c.released {
			return listed
		}
		v := w.in.channels[i]
		e, stamp := u.entryOf(v.Channel), g.stampAt(w.in.at, v.Channel)
		listed[v.Channel] = true
		switch {
		case stamp.M < e.floorM: // the user has left since
		case e.stamp != (events.Stamp{}) && !view.Covers(&stamp, &e.stamp): // the entry is newer: its value is sent after the inbox
			w.c.late.add(e, nil)
		default:
			u.replace(g, e, &v, stamp)
			w.in.channels[i] = v        // now includes the data of the channel record
			delete(w.c.late.entries, e) // the inbox includes its value
			if e.ch != nil && (e.answered > stamp.M || e.ch.Record != nil && e.ch.Record.Large && e.ch.Reach() > stamp.M) {
				g.ask(e) // no delta will bring the part of the record, or of an answer, that is beyond the inbox
			}
		}
		w.work.Step()
	}
	return listed
}

// unlisted removes the channels that the inbox does not list, unless their entries are newer.
// confirm reports that another inbox must show that the user is a member of one of those.
func (w *installing) unlisted(listed map[string]bool) (confirm bool) {
	w.c.confirm = false
	for id, e := range w.u.entries {
		if w.c.released {
			return false
		}
		stamp := w.g.stampAt(w.in.at, id)
		newer := !view.Covers(&stamp, &e.stamp)
		switch {
		case e.ch == nil || listed[id] || newer || stamp.M < e.floorM || e.memberUpTo > stamp.M:
			if newer && e.view.Channel != "" {
				w.c.late.add(e, nil)
			}
		default:
			gone := view.View{Channel: id, Epoch: e.view.Epoch}
			w.u.replace(w.g, e, &gone, stamp)
			delete(w.c.late.entries, e)
		}
		confirm = confirm || e.ch != nil && e.since == unconfirmed
		w.work.Step()
	}
	return confirm
}

// threads replaces the threads that the inbox covers. Deltas update the others.
func (w *installing) threads() {
	u := w.u
	listed := make(map[scope]bool, len(w.in.threads))
	for i := range w.in.threads {
		if w.c.released {
			return
		}
		v := w.in.threads[i]
		s, stamp := scope{v.Channel, v.Thread}, w.g.stampAt(w.in.threadsAt, v.Channel)
		listed[s] = true
		e := u.entries[s.channel]
		if t := u.threads[s]; e != nil && e.ch != nil && (t == nil || view.Covers(&stamp, &t.stamp)) {
			u.setThread(s, &thread{stamp: stamp, view: v})
			delete(w.c.late.threads, s)
		}
		w.work.Step()
	}
	for s, t := range u.threads {
		if w.c.released {
			return
		}
		stamp := w.g.stampAt(w.in.threadsAt, s.channel)
		switch covered := view.Covers(&stamp, &t.stamp); {
		case !covered:
			w.c.late.add(nil, t)
		case !listed[s]:
			u.setThread(s, nil)
			delete(w.c.late.threads, s)
		}
		w.work.Step()
	}
}

// replace replaces an entry's view by that of an inbox, and tells other devices what has changed.
func (u *user) replace(g *Gateway, e *entry, v *view.View, stamp events.Stamp) {
	was := e.view
	changed := e.stamp != (events.Stamp{}) && !v.Same(&was)
	u.change(e, func() {
		g.applyMembership(u, e, v.Channel, v.Member, stamp.M)
		g.plant("install")
		v.Judge(g.cfg.Now().UnixMilli())
		g.complete(e, v, 0, true)
		e.view, e.stamp = *v, stamp
		// The inbox does not show whether it includes the latest exceptions, and a delta that it
		// covers is ignored. So drop ours, and ask the owner until the next delta comes.
		e.exceptions, e.firsts = nil, view.Firsts{}
		if e.ch != nil && e.ch.Record != nil && e.ch.Record.Large {
			e.stamp.M = max(e.stamp.M, 1)
		}
	})
	if changed && u.inboxRead {
		g.frameUpdate(u, e, "")
	}
}

// setThread replaces a thread of the user and updates the totals; nil removes the thread.
func (u *user) setThread(s scope, t *thread) {
	e := u.entryOf(s.channel)
	u.change(e, func() {
		if old := u.threads[s]; old != nil {
			e.threads.Add(&old.view, -1)
		}
		if t == nil {
			delete(u.threads, s)
			return
		}
		if u.threads == nil {
			u.threads = map[scope]*thread{}
		}
		u.threads[s] = t
		e.threads.Add(&t.view, +1)
	})
}
