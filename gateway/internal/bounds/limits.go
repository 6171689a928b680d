package bounds

import (
	"cmp"
	"time"
)

// Limits bound what one client can cost (docs/security.md). Zero values become the defaults named
// here.
type Limits struct {
	FrameBytes      int           // of a client's frame; 64 KiB
	Focused         int           // channels and threads that a connection has focused; 128
	MessageIDs      int           // in one messages_read; 1,000
	QueueBytes      int           // that may wait for one connection; 1 MiB. Beyond, it is closed with CloseSlow
	InboxBytes      int           // of an inbox frame; 768 KiB. The rest is left out, and the frame has `truncated`
	WriteTimeout    time.Duration // for 64 KiB to be taken; 1 s
	PingEvery       time.Duration // between two pings; 25 s. A peer that does not answer within PongTimeout is gone
	PongTimeout     time.Duration // 10 s
	AuthTimeout     time.Duration // for a first frame that brings the token; 5 s
	FrameTimeout    time.Duration // from a frame's first byte to its last; 10 s
	FramesPerSecond float64       // of one user, over all connections; 50, with bursts of FramesBurst
	FramesBurst     int           // 200
	// AddressFramesPerSecond and AddressFramesBurst bound the frames of one address, over all
	// users; 2,000 and 8,000. A load balancer hides addresses: raise them there.
	AddressFramesPerSecond float64
	AddressFramesBurst     int
	// HandshakesPerSecond and HandshakesBurst bound new connections of one address, and of one
	// user; 20 and 100. A load balancer hides addresses: raise them there.
	HandshakesPerSecond float64
	HandshakesBurst     int
	Connections         int // of the gateway; 20,000
	PerUser             int // of one user; 32
	// Snapshots is how many inboxes are read at once; 32. The others wait, which bounds the memory
	// of a reconnect storm.
	Snapshots int
}

// WithDefaults returns l with the defaults in the places of its zeros.
func (l Limits) WithDefaults() Limits {
	l.FrameBytes = cmp.Or(l.FrameBytes, 64<<10)
	l.Focused = cmp.Or(l.Focused, 128)
	l.MessageIDs = cmp.Or(l.MessageIDs, 1000)
	l.QueueBytes = cmp.Or(l.QueueBytes, 1<<20)
	l.InboxBytes = cmp.Or(l.InboxBytes, 768<<10)
	l.WriteTimeout = cmp.Or(l.WriteTimeout, time.Second)
	l.PingEvery = cmp.Or(l.PingEvery, 25*time.Second)
	l.PongTimeout = cmp.Or(l.PongTimeout, 10*time.Second)
	l.AuthTimeout = cmp.Or(l.AuthTimeout, 5*time.Second)
	l.FrameTimeout = cmp.Or(l.FrameTimeout, 10*time.Second)
	l.FramesPerSecond = cmp.Or(l.FramesPerSecond, 50)
	l.FramesBurst = cmp.Or(l.FramesBurst, 200)
	l.AddressFramesPerSecond = cmp.Or(l.AddressFramesPerSecond, 2000)
	l.AddressFramesBurst = cmp.Or(l.AddressFramesBurst, 8000)
	l.HandshakesPerSecond = cmp.Or(l.HandshakesPerSecond, 20)
	l.HandshakesBurst = cmp.Or(l.HandshakesBurst, 100)
	l.Connections = cmp.Or(l.Connections, 20_000)
	l.PerUser = cmp.Or(l.PerUser, 32)
	l.Snapshots = cmp.Or(l.Snapshots, 32)
	return l
}
