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

// visitor is a counted connection.
type visitor struct {
	net.Conn
	door *door

	// mu of door guards both fields.
	place *list.Element // in idle; nil during a request
	gone  bool
}

func newDoor(limit int, m *metrics, log *obs.Seldom) *door {
	d := &door{max: limit, metrics: m, log: log}
	m.limit.Set(float64(limit))
	return d
}

// Accept returns the next connection for which there is room.
func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if v := d.admit(c); v != nil {
			return v, nil
		}
		_ = c.Close() // its client notices
	}
}

// admit returns nil if there is no room for a connection. A panic costs only that connection,
// because this goroutine accepts all of them.
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
		_ = v.Close() // it no longer counts
	}
	_ = guard.Do("logging it", func() { d.log.Warn("a connection was closed as it came in", guard.Attrs(err)...) })
	return nil
}

// enter counts a new connection, and removes the one that makes room for it. v is nil if there is
// no room.
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
	v.place = d.idle.PushBack(v) // it has no request yet
	d.metrics.open.Set(float64(d.open))
	return v, evicted
}

// remove removes a connection from the count, once.
func (d *door) remove(v *visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leave(v)
}

// leave is remove for callers that hold d.mu.
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

// NetConn returns the connection below, like crypto/tls.
func (v *visitor) NetConn() net.Conn { return v.Conn }

// state records which connections are idle (http.Server.ConnState).
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
