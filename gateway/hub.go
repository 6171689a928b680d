package gateway

import (
	"hash/maphash"

	"github.com/tidemark/tidemark/gateway/internal/interest"
	"github.com/tidemark/tidemark/gateway/internal/sliced"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/alarm"
	"github.com/tidemark/tidemark/internal/trace"
)

// shards is how many hubs a gateway has. Long work for one user delays only users of the same hub.
const shards = 16

// hub is one shard of the connected users, with the channels that they are members of. Its lock
// guards every user, channel and entry in it. Code that holds the lock neither waits nor works for
// long: records are decoded before the lock is taken, and frames are encoded after. Work that grows
// with one user's channels (an inbox may list 100,000) is sliced.Work, which releases the lock now
// and then.
//
// A channel with members in several shards has a channel object in each, for its members there.
type hub struct {
	number   int // number of the shard
	interest *interest.Interest
	alarms   *alarm.Set[*user]

	mu       sliced.Mutex
	users    map[string]*user
	channels map[string]*channel
	spare    spare
	// begun is, per partition of chat.messages, the offset at which the feed's session began.
	begun map[int32]int64
	// dirty lists the connections that got frames since the last kick.
	dirty []*conn
	// traced is the trace of the record that is being applied; nil: none is followed.
	traced *trace.Path
}

// hubs are all shards of a gateway.
type hubs struct {
	list     []*hub
	seed     maphash.Seed
	interest interest.Interest
}

// newHubs creates n shards, at most 64, with alarms for their users.
func newHubs(n int, alarms *alarm.Set[*user]) *hubs {
	hs := &hubs{seed: maphash.MakeSeed()}
	for i := range n {
		hs.list = append(hs.list, &hub{number: i, interest: &hs.interest, alarms: alarms, users: map[string]*user{}, channels: map[string]*channel{}, spare: newSpare()})
	}
	return hs
}

// of returns the hub of a user.
func (hs *hubs) of(userID string) *hub {
	return hs.list[maphash.String(hs.seed, userID)%uint64(len(hs.list))]
}

// kick makes connections with new frames write. Called without a lock.
func (hs *hubs) kick() {
	for _, h := range hs.list {
		h.kick()
	}
}

// all returns the current connections.
func (hs *hubs) all() (list []*wire.Conn) {
	for _, h := range hs.list {
		h.mu.Lock()
		for _, u := range h.users {
			for _, c := range u.conns {
				list = append(list, c.Conn)
			}
		}
		h.mu.Unlock()
	}
	return list
}

// each calls fn for each shard whose bit is set, with its lock.
func (hs *hubs) each(bits uint64, fn func(*hub)) {
	for _, h := range hs.list {
		if bits&(1<<h.number) != 0 {
			h.mu.With(func() { fn(h) })
		}
	}
}

// Has reports whether a user has a connection here.
func (hs *hubs) Has(userID string) bool {
	h := hs.of(userID)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.users[userID] != nil
}

// Names returns the connected users.
func (hs *hubs) Names() []string {
	var list []string
	for _, h := range hs.list {
		h.mu.Lock()
		for id := range h.users {
			list = append(list, id)
		}
		h.mu.Unlock()
	}
	return list
}

// channelOf returns the channel with an id, and creates it if needed. Called with the lock.
func (h *hub) channelOf(id string) *channel {
	ch := h.channels[id]
	if ch == nil {
		ch = h.spare.channels.Take()
		ch.id, ch.hub = id, h
		h.channels[id] = ch
		h.interest.Set(id, h.number, true)
	}
	return ch
}

// leave ends a user's interest in a channel. Called with the lock.
func (h *hub) leave(u *user, ch *channel) {
	delete(ch.members, u)
	if len(ch.members) == 0 && h.channels[ch.id] == ch {
		delete(h.channels, ch.id)
		h.interest.Set(ch.id, h.number, false)
	}
}

// connect adds a connection of a user of this hub. It returns false if the user has too many.
func (h *hub) connect(c *conn, userID string, perUser int) (*user, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.users[userID]
	if u == nil {
		u = &user{id: userID, hub: h, entries: map[string]*entry{}}
		u.alarm.Of = u
		h.users[userID] = u
	}
	if len(u.conns) >= perUser {
		return nil, false
	}
	c.user = u
	c.loading = true
	u.conns = append(u.conns, c)
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
	delete(h.users, u.id) // the object is unreachable now: a user who comes back gets a new one
	if u.timed.Len() > 0 {
		h.alarms.Drop(&u.alarm)
	}
	w := sliced.Work{Mutex: &h.mu}
	for _, e := range u.entries {
		if e.ch != nil {
			h.leave(u, e.ch) // e.ch stays, because deliveries to the last device are still to be reported
		}
		w.Step()
	}
	return true
}

// touch lists a connection as one with something to send. Called with the lock.
func (h *hub) touch(c *conn) {
	if !c.touched {
		c.touched = true
		h.dirty = append(h.dirty, c)
	}
}

// kick makes connections with new frames write. Called without the lock.
func (h *hub) kick() {
	h.mu.Lock()
	dirty := h.dirty
	h.dirty = nil
	for _, c := range dirty {
		c.touched = false
	}
	h.mu.Unlock()
	for _, c := range dirty {
		c.Kick()
	}
}

// spare holds entries and channels for a large inbox that is being installed.
type spare struct {
	entries  sliced.Stock[entry]
	channels sliced.Stock[channel]
}

func newSpare() spare {
	return spare{
		entries: sliced.Stock[entry]{New: func() *entry { return new(entry) }},
		channels: sliced.Stock[channel]{New: func() *channel {
			members := map[*user]*entry{nil: nil}
			clear(members) // leaves the memory for its first member
			return &channel{members: members}
		}},
	}
}

func (s *spare) fill(m *sliced.Mutex) {
	s.entries.Fill(m, sliced.Steps)
	s.channels.Fill(m, sliced.Steps)
}

func (s *spare) clear() { s.entries.Clear(); s.channels.Clear() }
