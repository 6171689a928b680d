package outputs

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/guard"
)

// A member publishes nothing once its session may have ended by its own clock. The group counts
// from the arrival of a heartbeat and the member from its sending, so the member's time is up
// first. The check is made as late as possible, where bytes leave the process, so it also stops
// records that wait in the client or are retried. Fences (fence.go) cover records that have already
// left, and a clock that stood still.

// Lease is the time until which a member may publish.
type Lease struct {
	Clock func() time.Duration
	until atomic.Int64 // by clock
}

// NewLease creates a lease that has ended. The first answered heartbeat starts it.
func NewLease() *Lease { return &Lease{Clock: monotonic()} }

// LeaseMargin is the part of a session (1/LeaseMargin) that is not used, because clocks run at
// different speeds.
const LeaseMargin = 10

// Extend extends the lease. sent is when a heartbeat was sent that the group has answered as a
// member's.
func (l *Lease) Extend(sent, session time.Duration) {
	until := int64(sent + session - session/LeaseMargin)
	for {
		was := l.until.Load()
		if until <= was || l.until.CompareAndSwap(was, until) {
			return
		}
	}
}

func (l *Lease) valid() bool { return int64(l.Clock()) < l.until.Load() }

// monotonic returns a clock that continues while the process is stopped, and while the machine
// sleeps.
func monotonic() func() time.Duration {
	began, slept := time.Now(), asleep()
	return func() time.Duration { return time.Since(began) + asleep() - slept }
}

// Outlet is the path of one producer's bytes to the brokers. It is open while the lease lasts, and
// closed forever when the producer is given up.
type Outlet struct {
	lease *Lease
	to    func(ctx context.Context, network, host string) (net.Conn, error)

	mu     sync.Mutex
	closed bool
	conns  map[*leased]struct{}
}

// NewOutlet creates an outlet whose connections are dialed by to.
func NewOutlet(l *Lease, to func(context.Context, string, string) (net.Conn, error)) *Outlet {
	return &Outlet{lease: l, to: to, conns: map[*leased]struct{}{}}
}

// Dial is the client's dialer.
func (o *Outlet) Dial(ctx context.Context, network, host string) (_ net.Conn, err error) {
	defer guard.Recover("dialing a broker", &err)
	conn, err := o.to(ctx, network, host)
	if err != nil {
		return nil, err
	}
	c := &leased{Conn: conn, outlet: o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		c.discard()
		return nil, fmt.Errorf("%w: the producer is given up", net.ErrClosed)
	}
	o.conns[c] = struct{}{}
	return c, nil
}

// close ends all connections, and discards as much of the kernel's buffers as it can.
func (o *Outlet) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for c := range o.conns {
		c.discard()
	}
	clear(o.conns)
}

// Open reports whether produce requests pass at this moment.
func (o *Outlet) Open() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.closed && o.lease.valid()
}

// leased is a connection through an outlet.
type leased struct {
	net.Conn
	outlet *Outlet
}

// tailBytes is the length of a request's tail that is written only after a second check. A broker
// ignores an incomplete request.
const tailBytes = 512

// Write writes a request of the client, which sends one request per call. Produce requests pass
// only while the outlet is open.
func (c *leased) Write(b []byte) (written int, err error) {
	defer guard.Recover("writing to a broker", &err)
	if !produces(b) {
		return c.Conn.Write(b)
	}
	for rest := b; len(rest) > 0; rest = b[written:] {
		if !c.outlet.Open() {
			c.discard()
			return written, fmt.Errorf("%w: the group session may have ended, and others may own the partitions", net.ErrClosed)
		}
		if len(rest) > tailBytes {
			rest = rest[:len(rest)-tailBytes]
		}
		n, err := c.Conn.Write(rest)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// produces reports whether b begins a produce request: its size, then its kind.
func produces(b []byte) bool {
	return len(b) >= 6 && binary.BigEndian.Uint16(b[4:]) == uint16(kmsg.Produce)
}

// Close implements net.Conn.
func (c *leased) Close() error {
	c.outlet.mu.Lock()
	delete(c.outlet.conns, c)
	c.outlet.mu.Unlock()
	return c.Conn.Close()
}

// discard closes the connection without sending buffered data.
func (c *leased) discard() {
	inner := c.Conn
	if t, ok := inner.(interface{ NetConn() net.Conn }); ok { // TLS
		inner = t.NetConn()
	}
	if tcp, ok := inner.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it is closed in either case
	}
	_ = inner.Close()
}
