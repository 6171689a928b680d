package gateway

import (
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/auth"
)

// Close codes of the gateway, beside those of RFC 6455. docs/gateway.md says what a client does
// about each.
const (
	CloseToken     = 4401           // no valid token, or it has expired or was revoked: come back with another
	CloseSlow      = wire.CloseSlow // more than QueueBytes waited for the client: connect again for a fresh inbox
	CloseRate      = 4429           // too many frames or connections: wait longer
	CloseElsewhere = websocket.StatusServiceRestart
	CloseTryAgain  = websocket.StatusTryAgainLater // no inbox could be read
)

// conn is one device of a user: its socket, what it looks at, and how far its inbox is.
type conn struct {
	*wire.Conn
	g       *Gateway
	user    *user
	load    func(*conn)   // reads its inbox and sends it
	remote  string        // the address that it comes from, with a port
	address string        // the network by which it is limited (limit.Network)
	bearer  auth.Identity // of its token; the reader's
	refused int           // frames, pings and pongs beyond the rates, less those that were allowed since; the reader's
	asking  atomic.Int32  // read_state frames that wait for an owner

	// Guarded by the hub's lock.
	focused  map[scope]uint32 // with the read epoch that was known when it was focused
	loading  bool             // its inbox is being read: the user's entries keep what changes meanwhile
	reloads  int              // inboxes to read when the one under way is done
	confirm  bool             // another inbox has to confirm a membership that came while this one was read
	late     late             // what changed while its inbox was being read
	released bool
	touched  bool // it is among the hub's dirty ones
}

// scope is what can be focused: a channel, or a thread of it.
type scope struct{ channel, thread string }

// late is the channels and threads whose values follow an inbox.
type late struct {
	entries map[*entry]struct{}
	threads map[scope]struct{}
}

// add notes a channel or a thread; either may be nil.
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
