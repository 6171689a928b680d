package wire

import (
	"runtime"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
)

// writerPatience is how long a socket may take a writer's time. After that the writer is no longer
// counted, and another one starts in its place.
const writerPatience = 5 * time.Millisecond

// Writers let connections write in the order in which they got something, a few at a time.
//
// With a goroutine for each of a thousand sockets, all runnable at once, no processor would run
// what these sockets wait for: the feed, the fold where roles share a process, and the network,
// which Go polls only when a processor has nothing else to run. And whatever comes for a connection
// while it waits for its turn leaves in the same write.
type Writers struct {
	// atOnce is how many writers there are, apart from those of sockets that are stuck.
	atOnce int

	mu      sync.Mutex
	waiting []*Conn // from next on; those before have had their turn
	next    int
	active  map[*writer]struct{}
	watched bool // a check is due
}

// writer is a goroutine that writes; its fields are guarded by the lock of writers.
type writer struct {
	conn *Conn // whose turn it is
	turn int   // counts the turns
	seen int   // turn at the last check
}

// NewWriters makes writers for all processors but one, which is left to everything else.
func NewWriters() *Writers {
	return &Writers{atOnce: max(1, runtime.GOMAXPROCS(0)-1), active: map[*writer]struct{}{}}
}

// add gives a connection a turn. The caller makes sure that it has only one at a time: see
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

// start starts writers for the connections that wait, and has them checked while all are busy.
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
		runtime.Gosched() // a socket seldom blocks, so this lets everything else run first
	}
}

// alone writes to a connection that is stuck until it takes what it is given, or has ended.
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

// check stops counting the writers that are still at the connection of the last check. That
// connection is stuck, and others do not wait for it.
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

// Idle reports whether no connection is being written to, nor waits for that.
func (ws *Writers) Idle() bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return len(ws.active) == 0 && ws.next == len(ws.waiting)
}
