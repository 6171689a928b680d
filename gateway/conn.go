package gateway

import (
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/auth"
)

// Close codes of the gateway besides those of RFC 6455. docs/gateway.md has the client's reactions.
const (
	CloseToken     = 4401           // no valid token, or it has expired or was revoked: reconnect with another
	CloseSlow      = wire.CloseSlow // more than QueueBytes waited for the client: connect again for a fresh inbox
	CloseRate      = 4429           // too many frames or connections: wait longer
	CloseElsewhere = websocket.StatusServiceRestart
	CloseTryAgain  = websocket.StatusTryAgainLater // no inbox could be read: reconnect later
)

// conn is one device of a user: its socket, its focus, and the state of its inbox.
type conn struct {
	*wire.Conn
	g       *Gateway
	user    *user
	load    func(*conn)   // reads its inbox and sends it
	remote  string        // the peer's address, with a port
	address string        // the network that limits apply to (limit.Network)
	bearer  auth.Identity // identity of its token; only the reader uses it, or what it waits for
	letGo   func()        // ends the watching of its token
	refused int           // excess frames, pings and pongs, minus one for each allowed frame since; used as bearer
	asking  atomic.Int32  // read_state frames that wait for an owner

	// Guarded by the hub's lock.
	focused  map[scope]uint32 // with the read epoch at the time of focusing
	loading  bool             // its inbox is being read: changes meanwhile go into the user's entries and into late
	reloads  int              // inboxes to read after the one in progress
	confirm  bool             // another inbox must confirm a membership that came while this one was read
	late     late             // what changed while its inbox was being read
	released bool
	touched  bool // it is in hub.dirty
}

// scope is a channel, or a thread of it, that can be focused.
type scope struct{ channel, thread string }

// late lists the channels and threads whose values are sent after an inbox.
type late struct {
	entries map[*entry]struct{}
	threads map[scope]struct{}
}

// add adds a channel or a thread; either may be nil.
func (l *late) add(e *entry, t *thread) {
	if e != nil {
		if l.entries == nil {
			l.entries = map[*entry]struct{}{}
		}
		l.entries[e] = struct{}{}
	}
	if t != nil {
		if l.threads == nil {
			l.threads = map[scope]struct{}{}
		}
		l.threads[scope{t.view.Channel, t.view.Thread}] = struct{}{}
	}
}
