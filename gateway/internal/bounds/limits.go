package bounds

import (
	"cmp"
	"time"
)

// Limits limit the costs of one client (docs/security.md). Zero values become the defaults named
// here.
type Limits struct {
	FrameBytes      int           // size of a client's frame; 64 KiB
	Focused         int           // focused channels and threads of a connection; 128
	MessageIDs      int           // ids in one messages_read; 1,000
	QueueBytes      int           // queued bytes of one connection; 1 MiB. Beyond that it is closed with CloseSlow
	InboxBytes      int           // size of an inbox frame; 768 KiB. The rest is left out, and the frame has `truncated`
	WriteTimeout    time.Duration // for a client to take 64 KiB; 1 s
	PingEvery       time.Duration // between two pings; 25 s. A peer without an answer within PongTimeout is gone
	PongTimeout     time.Duration // 10 s
	AuthTimeout     time.Duration // for the first frame, with the token; 5 s
	FrameTimeout    time.Duration // from a frame's first byte to its last; 10 s
	FramesPerSecond float64       // frames of one user, over all connections; 50, with bursts of FramesBurst
	FramesBurst     int           // 200
	// AddressFramesPerSecond and AddressFramesBurst limit the frames of one address, over all
	// users; 2,000 and 8,000. Behind a load balancer all clients share its address: raise them
	// there.
	AddressFramesPerSecond float64
	AddressFramesBurst     int
	// HandshakesPerSecond and HandshakesBurst limit new connections of one address, and of one
	// user; 20 and 100. Behind a load balancer all clients share its address: raise them there.
	HandshakesPerSecond float64
	HandshakesBurst     int
	Connections         int // of the gateway; 20,000
	PerUser             int // of one user; 32
	// Snapshots is how many inboxes are read at once; 32. Others wait, which limits the memory of a
	// reconnect storm.
	Snapshots int
}

// WithDefaults returns l with defaults instead of zeros.
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
