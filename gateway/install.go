package gateway

import "github.com/tidemark/tidemark/events"

// install makes an inbox the user's, and sends it with what it does not cover. If again is allowed and something may
// have been missed, nothing is sent, and the answer is how far the inbox has to reach when it is read once more.
func (g *Gateway) install(c *conn, in *inbox, again bool) (after []string) {
	h := g.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.released {
		return nil
	}
	u := c.user
	if after = g.register(u, in); again && len(after) > 0 {
		return after
	}
	listed := make(map[string]bool, len(in.channels))
	shown := in.channels[:0]
	for i := range in.channels {
		v := in.channels[i]
		if listed[v.channel] {
			continue // it moved between two pages
		}
		e, stamp := u.entryOf(v.channel), g.stampAt(in.at, v.channel)
		listed[v.channel] = true
		if stamp.M < e.floorM {
			continue // he has left since
		}
		shown = append(shown, v)
		if e.stamp != (events.Stamp{}) && !covers(&stamp, &e.stamp) {
			continue // newer: it follows
		}
		u.replace(g, e, &v, stamp)
		if e.ch != nil && e.ch.record != nil && e.ch.record.Large && e.ch.told() > stamp.M {
			g.ask(e) // no delta will say what the record included beyond the inbox
		}
	}
	for id, e := range u.entries {
		stamp := g.stampAt(in.at, id)
		if e.ch == nil || listed[id] || !covers(&stamp, &e.stamp) || stamp.M < e.floorM {
			continue
		}
		gone := view{channel: id, epoch: e.view.epoch}
		u.replace(g, e, &gone, stamp)
	}
	g.installThreads(u, in)
	u.total()
	u.known = true

	c.mu.Lock()
	c.queue.drop()
	waiting := c.queue
	c.queue.clear()
	c.mu.Unlock()
	c.send(item{body: g.inboxFrame(u, shown), inbox: true})
	for id, e := range u.entries {
		if stamp := g.stampAt(in.at, id); e.view.channel != "" && !covers(&stamp, &e.stamp) {
			c.send(g.updateItem(u, e, ""))
		}
	}
	for s, t := range u.threads {
		if stamp := g.stampAt(in.heard, s.channel); !covers(&stamp, &t.stamp) {
			c.send(g.threadItem(u, t, ""))
		}
	}
	for _, it := range waiting.items {
		c.send(it)
	}
	c.loading = false
	if c.reloads > 0 || u.unsure() {
		c.reloads = 0
		g.startLoad(c)
	}
	h.touch(c)
	return nil
}

// register notes an interest in all channels of an inbox, before it counts as read. It returns which events the feed has
// passed that the inbox does not include, if there were some in a channel of which this user was not told: because nobody
// here was interested in it, or because others were, and have been told of more than the inbox includes.
func (g *Gateway) register(u *user, in *inbox) (after []string) {
	passed := map[int32]int64{} // how far the inbox has to reach
	for i := range in.channels {
		id := in.channels[i].channel
		e := u.entryOf(id)
		p := events.PartitionOf([]byte(id), g.cfg.Partitions)
		s := in.at[p]
		if (e.ch != nil && e.since != unsure) || s.M < e.floorM || (e.stamp != (events.Stamp{}) && !covers(&s, &e.stamp)) {
			continue
		}
		reach, known := g.seen[p], e.ch == nil && g.hub.channels[id] != nil
		if known {
			reach = g.hub.channels[id].told()
		}
		u.count(e, -1)
		e.view.channel = id
		g.says(u, e, id, true, s.M)
		u.count(e, +1)
		passed[p] = max(passed[p], reach)
	}
	for p, reach := range passed {
		if reach > in.at[p].M {
			after = g.passed(after, p, max(reach, g.seen[p]))
		}
	}
	return after
}

// installThreads makes the threads of an inbox the user's.
func (g *Gateway) installThreads(u *user, in *inbox) {
	listed := map[scope]bool{}
	for i := range in.threads {
		v := in.threads[i]
		s, stamp := scope{v.channel, v.thread}, g.stampAt(in.heard, v.channel)
		listed[s] = true
		t := u.threads[s]
		if t != nil && !covers(&stamp, &t.stamp) {
			continue
		}
		if u.threads == nil {
			u.threads = map[scope]*thread{}
		}
		u.threads[s] = &thread{stamp: stamp, view: v}
	}
	for s, t := range u.threads {
		if stamp := g.stampAt(in.heard, s.channel); !listed[s] && covers(&stamp, &t.stamp) {
			delete(u.threads, s)
		}
	}
}

// stampAt is the stamp of what was read of a channel.
func (g *Gateway) stampAt(at position, channel string) events.Stamp {
	s := at[events.PartitionOf([]byte(channel), g.cfg.Partitions)]
	s.FoldVersion = ofInbox
	return s
}

// replace puts what an inbox says in place of an entry, and tells the user's other devices if that is news.
func (u *user) replace(g *Gateway, e *entry, v *view, stamp events.Stamp) {
	was := e.view
	changed := e.stamp != (events.Stamp{}) && *v != was
	u.count(e, -1)
	g.says(u, e, v.channel, v.member, stamp.M)
	e.view, e.stamp = *v, stamp
	// Whether a delta that changed them is in the inbox, nobody says, and one that is will not be looked at: the owner is
	// asked until the next.
	e.exceptions = nil
	if e.ch != nil && e.ch.record != nil && e.ch.record.Large {
		e.stamp.M = max(e.stamp.M, 1)
	}
	u.count(e, +1)
	if changed && u.known {
		g.frameUpdate(u, e, "")
	}
}

// total adds everything up anew.
func (u *user) total() {
	u.totals = totals{}
	for _, e := range u.entries {
		e.threads = threadSums{}
	}
	for s, t := range u.threads {
		u.entryOf(s.channel).threads.add(&t.view, +1)
	}
	for _, e := range u.entries {
		u.count(e, +1)
	}
}

// inboxFrame lists what was read, unread and newest first. What exceeds the limit is left out: the totals count it, and
// its changes are sent like all others.
func (g *Gateway) inboxFrame(u *user, list []view) []byte {
	b := begin(make([]byte, 0, 256+320*min(len(list), 2500)), "inbox")
	b = append(key(b, "channels"), '[')
	truncated := false
	for i := range list {
		if len(b) > g.cfg.Limits.InboxBytes {
			truncated = true
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(list[i].append(append(b, '{'), !g.cfg.PreviewsOff), '}')
	}
	b = append(b, ']')
	b = append(key(b, "threads"), '[')
	first := true
	for _, t := range u.threads {
		if e := u.entries[t.view.channel]; !t.view.member || e == nil || e.ch == nil {
			continue
		}
		if len(b) > g.cfg.Limits.InboxBytes {
			truncated = true
			break
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(t.view.append(append(b, '{'), !g.cfg.PreviewsOff), '}')
	}
	b = append(b, ']')
	b = u.totals.append(b)
	if truncated {
		b = boolean(b, "truncated", true)
	}
	return append(b, '}')
}
