package gateway

import (
	"sync"
)

// hub is who is connected and what they are members of. Its lock guards every user, channel and entry; nothing waits
// while it is held.
type hub struct {
	mu       sync.Mutex
	users    map[string]*user
	channels map[string]*channel
	conns    int
	// dirty are connections that got frames since the last kick.
	dirty []*conn
}

func newHub() *hub { return &hub{users: map[string]*user{}, channels: map[string]*channel{}} }

// channelOf is the channel with an id, made if nobody was interested so far. Called with the lock.
func (h *hub) channelOf(id string) *channel {
	ch := h.channels[id]
	if ch == nil {
		ch = &channel{id: id, members: map[*user]*entry{}}
		h.channels[id] = ch
	}
	return ch
}

// leave ends a user's interest in a channel. Called with the lock.
func (h *hub) leave(u *user, ch *channel) {
	delete(ch.members, u)
	if len(ch.members) == 0 {
		delete(h.channels, ch.id)
	}
}

// connect adds a connection of a user. It returns false if he has too many.
func (h *hub) connect(c *conn, userID string, perUser int) (*user, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.users[userID]
	if u == nil {
		u = &user{id: userID, entries: map[string]*entry{}}
		h.users[userID] = u
	}
	if len(u.conns) >= perUser {
		return nil, false
	}
	c.user = u
	c.loading = true
	u.conns = append(u.conns, c)
	h.conns++
	return u, true
}

// disconnect removes a connection. It reports whether it was the user's last one here.
func (h *hub) disconnect(c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.released {
		return false
	}
	c.released = true
	h.conns--
	u := c.user
	for i, other := range u.conns {
		if other == c {
			u.conns = append(u.conns[:i], u.conns[i+1:]...)
			break
		}
	}
	if len(u.conns) > 0 {
		return false
	}
	for _, e := range u.entries {
		if e.ch != nil {
			h.leave(u, e.ch)
		}
	}
	delete(h.users, u.id)
	return true
}

// touch notes that a connection has something to send. Called with the lock.
func (h *hub) touch(c *conn) {
	if !c.touched {
		c.touched = true
		h.dirty = append(h.dirty, c)
	}
}

// kick lets everybody send who got something. It is called without the lock.
func (h *hub) kick() {
	h.mu.Lock()
	dirty := h.dirty
	h.dirty = nil
	for _, c := range dirty {
		c.touched = false
	}
	h.mu.Unlock()
	for _, c := range dirty {
		c.kick()
	}
}

// all are the connections of this moment.
func (h *hub) all() []*conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*conn, 0, h.conns)
	for _, u := range h.users {
		list = append(list, u.conns...)
	}
	return list
}

// has reports whether a user has a connection here.
func (h *hub) has(userID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.users[userID] != nil
}

// away adds those users to a list who have no connection here.
func (h *hub) away(users, list []string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range users {
		if h.users[id] == nil {
			list = append(list, id)
		}
	}
	return list
}

// names are the users of this moment.
func (h *hub) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]string, 0, len(h.users))
	for id := range h.users {
		list = append(list, id)
	}
	return list
}
