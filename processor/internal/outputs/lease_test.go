package outputs

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/guard"
)

// recorded is a connection that records each write.
type recorded struct {
	net.Conn
	pieces []int
	each   func() // is called with each piece
	closed bool
}

func (c *recorded) Write(b []byte) (int, error) {
	c.pieces = append(c.pieces, len(b))
	if c.each != nil {
		c.each()
	}
	return len(b), nil
}

func (c *recorded) Close() error { c.closed = true; return nil }

func requestOf(key kmsg.Key, size int) []byte {
	b := make([]byte, size)
	binary.BigEndian.PutUint32(b, uint32(size-4))
	binary.BigEndian.PutUint16(b[4:], uint16(key))
	return b
}

// TestNothingLeavesOnceTheSessionMayHaveEnded: produce requests pass while the lease lasts, not
// after, and one that has begun is not finished after; others always pass. A producer that was
// given up never produces again.
func TestNothingLeavesOnceTheSessionMayHaveEnded(t *testing.T) {
	var now time.Duration
	l := &Lease{Clock: func() time.Duration { return now }}
	var to *recorded
	o := NewOutlet(l, func(context.Context, string, string) (net.Conn, error) { to = &recorded{}; return to, nil })
	dial := func() net.Conn {
		t.Helper()
		c, err := o.Dial(t.Context(), "tcp", "broker")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	passes := func(when string, key kmsg.Key, want bool) {
		t.Helper()
		c := dial()
		n, err := c.Write(requestOf(key, 2000))
		if passed := err == nil && n == 2000; passed != want || passed == to.closed || !passed && len(to.pieces) > 0 {
			t.Errorf("%s: %d of 2000 bytes of a %s passed, the connection is closed: %t, %v", when, n, key.Name(), to.closed, err)
		}
	}
	passes("before the first heartbeat", kmsg.Produce, false)
	l.Extend(now, 10*time.Second)
	passes("as a member", kmsg.Produce, true)
	now = 9*time.Second - 1
	passes("just before the margin", kmsg.Produce, true)
	now = 9 * time.Second
	passes("within the margin", kmsg.Produce, false)
	passes("within the margin", kmsg.InitProducerID, true)
	l.Extend(4*time.Second, 10*time.Second)
	passes("after a heartbeat that was sent in between", kmsg.Produce, true)
	l.Extend(time.Second, 10*time.Second) // a late answer does not shorten the lease
	passes("after an older answer", kmsg.Produce, true)

	c := dial()
	to.each = func() { now = time.Hour }
	if n, err := c.Write(requestOf(kmsg.Produce, 2000)); !errors.Is(err, net.ErrClosed) || n == 2000 || !to.closed {
		t.Errorf("a request in the middle of which the session ended: %d bytes, %v", n, err)
	}
	l.Extend(now, 10*time.Second)
	c = dial()
	o.close()
	if !to.closed {
		t.Error("a connection of a producer that is given up is open")
	}
	if _, err := c.Write(requestOf(kmsg.Produce, 100)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a producer that is given up: %v", err)
	}
	if _, err := o.Dial(t.Context(), "tcp", "broker"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a producer that is given up dials: %v", err)
	}
}

// A panic while the client dials or writes, in a goroutine of its own, is an error of the
// connection.
func TestPanicOnTheWayToABroker(t *testing.T) {
	l := &Lease{Clock: func() time.Duration { return 0 }}
	l.Extend(0, time.Hour)
	dials := 0
	o := NewOutlet(l, func(context.Context, string, string) (net.Conn, error) {
		if dials++; dials == 1 {
			panic("planted")
		}
		return &recorded{each: func() { panic("planted") }}, nil
	})
	if _, err := o.Dial(t.Context(), "tcp", "broker"); guard.Of(err) == nil {
		t.Errorf("dialing: %v", err)
	}
	c, err := o.Dial(t.Context(), "tcp", "broker")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []kmsg.Key{kmsg.Produce, kmsg.Metadata} {
		if _, err := c.Write(requestOf(key, 100)); guard.Of(err) == nil {
			t.Errorf("writing: %v", err)
		}
	}
	o.close()
}
