package edge

import (
	"container/list"
	"net"
	"net/http"
	"sync"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/obs"
)

// door is a listener with a bounded number of open connections. At the bound, a new connection
// takes the place of the longest idle one. If none is idle, the new one is closed at once, so that
// its client tries another node.
type door struct {
	net.Listener
	max     int
	metrics *metrics
	log     *obs.Seldom

	mu   sync.Mutex
	open int
	idle list.List // of *visitor, the longest idle first
}

// visitor is a connection that counts.
type visitor struct {
	net.Conn
	door *door

	// both guarded by the door's mu
	place *list.Element // in idle; nil while a request is under way
	gone  bool
}

func newDoor(limit int, m *metrics, log *obs.Seldom) *door {
	d := &door{max: limit, metrics: m, log: log}
	m.limit.Set(float64(limit))
	return d
}

// Accept returns the next connection that there is room for.
func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if v := d.admit(c); v != nil {
			return v, nil
		}
		_ = c.Close() // its client finds out
	}
}

// admit returns nil if there is no room for a connection. A panic costs that connection alone: the
// goroutine is the one that accepts them all.
func (d *door) admit(c net.Conn) (v *visitor) {
	err := guard.Do("accepting a connection", func() {
		var evicted *visitor
		if v, evicted = d.enter(c); evicted != nil {
			d.metrics.evicted.Inc()
			_ = evicted.Conn.Close()
		}
		if v == nil {
			d.metrics.refused.WithLabelValues(refusedConnection).Inc()
			d.log.Warn("a connection was refused: the limit of open connections is reached", "limit", d.max, "from", c.RemoteAddr().String())
		}
	})
	if err == nil {
		return v
	}
	if v != nil {
		_ = v.Close() // does not count any more
	}
	_ = guard.Do("logging it", func() { d.log.Warn("a connection was closed as it came in", guard.Attrs(err)...) })
	return nil
}

// enter counts a connection, and out the one that makes room for it. v is nil if there is no room.
func (d *door) enter(c net.Conn) (v, evicted *visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open >= d.max {
		longest := d.idle.Front()
		if longest == nil {
			return nil, nil
		}
		evicted = longest.Value.(*visitor)
		d.leave(evicted)
	}
	d.open++
	v = &visitor{Conn: c, door: d}
	v.place = d.idle.PushBack(v) // nothing came of it yet
	d.metrics.open.Set(float64(d.open))
	return v, evicted
}

// remove counts a connection out, once.
func (d *door) remove(v *visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leave(v)
}

// leave is remove where d.mu is held.
func (d *door) leave(v *visitor) {
	if v.gone {
		return
	}
	v.gone = true
	d.open--
	if v.place != nil {
		d.idle.Remove(v.place)
		v.place = nil
	}
	d.metrics.open.Set(float64(d.open))
}

// Close closes the connection.
func (v *visitor) Close() error {
	v.door.remove(v)
	return v.Conn.Close()
}

// NetConn is the connection below, as of crypto/tls.
func (v *visitor) NetConn() net.Conn { return v.Conn }

// state notes which connections are idle (http.Server.ConnState).
func (d *door) state(c net.Conn, s http.ConnState) {
	v := visitorOf(c)
	if v == nil || s == http.StateNew || s == http.StateClosed {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case v.gone:
	case s == http.StateIdle && v.place == nil:
		v.place = d.idle.PushBack(v)
	case s != http.StateIdle && v.place != nil: // a request, or a socket
		d.idle.Remove(v.place)
		v.place = nil
	}
}

// visitorOf finds the visitor below TLS.
func visitorOf(c net.Conn) *visitor {
	for c != nil {
		if v, is := c.(*visitor); is {
			return v
		}
		above, is := c.(interface{ NetConn() net.Conn })
		if !is {
			return nil
		}
		c = above.NetConn()
	}
	return nil
}
