package gateway

import "github.com/tidemark/tidemark/internal/guard"

// startLoad begins to read the inbox of a connection. Called with the lock.
func (c *conn) startLoad() {
	c.loading = true
	guard.Go("the reading of an inbox", c.Panicked, func() {
		c.load(c)
		c.user.hub.kick()
	})
}

// reload sends all devices of the user a fresh inbox. Called with the lock.
func (u *user) reload() {
	for _, c := range u.conns {
		c.reload()
	}
}

// reload sends the device a fresh inbox. Called with the lock.
func (c *conn) reload() {
	if c.loading {
		c.reloads++
		return
	}
	c.startLoad()
}
