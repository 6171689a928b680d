package gateway

import (
	"fmt"
	"time"
)

// Plant makes the gateway call f at the named places.
func (c *Config) Plant(f func(where string)) { c.planted = f }

// Locked returns the name of a lock of the gateway that is held although none should be, or "".
func (g *Gateway) Locked() string {
	for _, h := range g.hubs.list {
		if !h.mu.TryLock() {
			return fmt.Sprintf("hub %d", h.number)
		}
		for id, u := range h.users {
			for _, c := range u.conns {
				if !returns(func() { c.Waiting() }) {
					h.mu.Unlock()
					return "a connection of " + id
				}
			}
		}
		h.mu.Unlock()
	}
	if !returns(func() { g.hubs.interest.Set("", 0, false) }) {
		return "interest"
	}
	if !g.delivered.mu.TryLock() {
		return "deliveries"
	}
	g.delivered.mu.Unlock()
	if !returns(func() { g.wire.Writers.Idle() }) {
		return "writers"
	}
	return ""
}

// returns reports whether f, which takes a lock, returns.
func returns(f func()) bool {
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
		return true
	case <-time.After(2 * time.Minute):
		return false
	}
}

// Connections returns how many slots of Limits.Connections are taken.
func (g *Gateway) Connections() int64 { return g.count.Load() }

// Wrong returns a user whose totals are not the sum of their channels and threads; "" if there is
// none.
func (g *Gateway) Wrong() string {
	for _, h := range g.hubs.list {
		h.mu.Lock()
		for _, u := range h.users {
			kept := u.totals
			if u.total(); u.totals != kept {
				defer h.mu.Unlock()
				return fmt.Sprintf("%s: kept up %+v, added up anew %+v", u.id, kept, u.totals)
			}
		}
		h.mu.Unlock()
	}
	return ""
}
