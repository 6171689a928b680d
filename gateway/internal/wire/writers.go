package wire

import (
	"runtime"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
)

// writerPatience is how long a socket may occupy a writer. After that the writer no longer counts,
// and another one starts in its place.
const writerPatience = 5 * time.Millisecond

// Writers let connections write in the order in which they got frames, a few at a time.
//
// If each of a thousand sockets had a runnable goroutine, no processor would be free for the work
// that these sockets wait for: the feed, the fold (if the roles share a process), and the network,
// which Go polls only when a processor is otherwise idle. In addition, frames that come while a
// connection waits for its turn leave in the same write.
type Writers struct {
	// atOnce is how many writers there are, without those of stuck sockets.
	atOnce int

	mu      sync.Mutex
	waiting []*Conn // from next on; earlier ones have had their turn
	next    int
	active  map[*writer]struct{}
	watched bool // a check is scheduled
}

// writer is a goroutine that writes; the lock of Writers guards its fields.
type writer struct {
	conn *Conn // the connection that has the turn
	turn int   // counts the turns
	seen int   // turn at the last check
}

// NewWriters creates writers for all processors but one, which is left for everything else.
func NewWriters() *Writers {
	return &Writers{atOnce: max(1, runtime.GOMAXPROCS(0)-1), active: map[*writer]struct{}{}}
}

// add gives a connection a turn. The caller ensures that it has only one at a time: see
// Conn.writing.
func (ws *Writers) add(c *Conn) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if c.stuck {
		guard.Go("a writer", c.Panicked, func() { ws.alone(c) })
		return
	}
	ws.waiting = append(ws.waiting, c)
	ws.start()
}

// start starts writers for the waiting connections, and schedules a check while all are busy.
// Called with the lock.
func (ws *Writers) start() {
	for n := len(ws.waiting) - ws.next; n > 0 && len(ws.active) < ws.atOnce; n-- {
		w := &writer{seen: -1}
		ws.active[w] = struct{}{}
		guard.Go("a writer", func(*guard.Error) { ws.drop(w) }, func() { ws.run(w) })
	}
	if !ws.watched && ws.next < len(ws.waiting) {
		ws.watched = true
		guard.AfterFunc(writerPatience, "the watching of writers", func(*guard.Error) {}, ws.check)
	}
}

// run gives turns until no connection waits, or another writer has started in the place of w.
func (ws *Writers) run(w *writer) {
	for c := ws.take(w); c != nil; c = ws.take(w) {
		if c.turn() {
			ws.add(c)
		}
		runtime.Gosched() // a socket seldom blocks, so this lets other goroutines run first
	}
}

// alone writes to a stuck connection until its client catches up or it has ended.
func (ws *Writers) alone(c *Conn) {
	for {
		began := time.Now()
		more := c.turn()
		if time.Since(began) < writerPatience {
			ws.mu.Lock()
			c.stuck = false
			ws.mu.Unlock()
			if more {
				ws.add(c)
			}
			return
		}
		if !more {
			return
		}
	}
}

// drop removes a writer that panicked.
func (ws *Writers) drop(w *writer) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.active, w)
	ws.start()
}

// take returns the next connection for w, or nil if w is to end.
func (ws *Writers) take(w *writer) *Conn {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if _, counted := ws.active[w]; !counted {
		return nil
	}
	if ws.next == len(ws.waiting) {
		delete(ws.active, w)
		return nil
	}
	w.conn = ws.waiting[ws.next]
	w.turn++
	ws.waiting[ws.next] = nil
	ws.next++
	switch {
	case ws.next == len(ws.waiting):
		ws.waiting, ws.next = ws.waiting[:0], 0
	case ws.next >= 1024 && ws.next > len(ws.waiting)/2:
		n := copy(ws.waiting, ws.waiting[ws.next:])
		clear(ws.waiting[n:])
		ws.waiting, ws.next = ws.waiting[:n], 0
	}
	return w.conn
}

// check stops counting the writers that are still at the same connection as in the last check. That
// connection is stuck, and others must not wait for it.
func (ws *Writers) check() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.watched = false
	for w := range ws.active {
		if w.turn == w.seen && w.conn != nil {
			w.conn.stuck = true
			delete(ws.active, w)
		}
		w.seen = w.turn
	}
	ws.start()
}

// Idle reports whether no connection writes or waits to write.
func (ws *Writers) Idle() bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return len(ws.active) == 0 && ws.next == len(ws.waiting)
}
