package gateway

import (
	"runtime"
	"sync"
	"time"
)

// writerPatience is how long a socket may take before its writer is not counted any more and another one goes on.
const writerPatience = 5 * time.Millisecond

// writers let connections write in the order in which they got something, a few at a time. A goroutine for each of a
// thousand sockets, all runnable at once, would keep every processor from what these sockets wait for: the feed, the fold
// where roles share a process, and the network, which is looked at only when a processor has nothing else to run. And
// while a connection waits for its turn, what comes for it leaves in the same write.
type writers struct {
	// atOnce is how many sockets are written to at the same time, beside those that do not take what they are given.
	atOnce int

	mu      sync.Mutex
	waiting []*conn // from next on
	next    int
	active  map[*writer]struct{}
	watched bool // check is due
}

// writer is a goroutine that writes; its fields are guarded by the lock of writers.
type writer struct {
	conn *conn // that has its turn
	turn int   // counts the connections
	seen int   // turn at the last check
}

// newWriters leaves one processor to everything else.
func newWriters() *writers {
	return &writers{atOnce: max(1, runtime.GOMAXPROCS(0)-1), active: map[*writer]struct{}{}}
}

// add gives a connection a turn. Whoever adds it makes sure that it has only one at a time.
func (ws *writers) add(c *conn) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if c.stuck {
		go ws.alone(c)
		return
	}
	ws.waiting = append(ws.waiting, c)
	ws.start()
}

// start starts writers for those who wait, and watches them while all are taken. Called with the lock.
func (ws *writers) start() {
	for n := len(ws.waiting) - ws.next; n > 0 && len(ws.active) < ws.atOnce; n-- {
		w := &writer{seen: -1}
		ws.active[w] = struct{}{}
		go ws.run(w)
	}
	if !ws.watched && ws.next < len(ws.waiting) {
		ws.watched = true
		time.AfterFunc(writerPatience, ws.check)
	}
}

// run gives turns until nobody waits, or another writer was started instead.
func (ws *writers) run(w *writer) {
	for c := ws.take(w); c != nil; c = ws.take(w) {
		if c.write() {
			ws.add(c)
		}
		runtime.Gosched() // a socket seldom blocks: what else is runnable goes first
	}
}

// alone writes to a connection that did not take what it was given, until it does.
func (ws *writers) alone(c *conn) {
	for {
		began := time.Now()
		more := c.write()
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

// take is the next connection for w; nil: none, and w is to end.
func (ws *writers) take(w *writer) *conn {
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

// check stops counting writers that are still at the connection of the last check: it does not take what it is given, and
// nobody else waits for that.
func (ws *writers) check() {
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
