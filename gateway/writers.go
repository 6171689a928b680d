package gateway

import (
	"errors"
	"net"
	"runtime"
	"sync"
)

// writers send what is queued. They are as few as there are processors, and none while there is nothing to send: a
// message for a thousand sockets would otherwise make a thousand goroutines runnable at once, and everything else,
// the reading of the next messages too, would wait behind all of them. A writer never waits for a client: where the
// kernel does not take all at once, the rest is sent by a goroutine of that connection alone.
type writers struct {
	mu     sync.Mutex
	ready  []*conn // in the order in which they got something to send
	next   int     // of ready
	active int     // writers that run
}

// add has a connection written to, which is marked as writing.
func (w *writers) add(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready = append(w.ready, c)
	if w.active < runtime.GOMAXPROCS(0) {
		w.active++
		go w.run()
	}
}

// run writes to those who are ready, one batch to each, until nobody is.
func (w *writers) run() {
	for {
		w.mu.Lock()
		if w.next == len(w.ready) {
			w.ready, w.next = nil, 0
			w.active--
			w.mu.Unlock()
			return
		}
		c := w.ready[w.next]
		w.ready[w.next] = nil
		w.next++
		w.mu.Unlock()
		c.write()
		runtime.Gosched() // so that a backlog of clients delays nothing else
	}
}

// write sends one batch, or closes.
func (c *conn) write() {
	c.mu.Lock()
	if c.closing.code != 0 {
		c.mu.Unlock() // writing stays true: nothing is written after a close
		go c.end()
		return
	}
	batch := c.queue.take(corkBytes)
	c.mu.Unlock()
	c.g.metrics.frames.Add(float64(len(batch)))
	rest, err := c.link.trySend(batch)
	if rest != nil {
		go func() { c.wrote(batch, rest()) }()
		return
	}
	c.wrote(batch, err)
}

// wrote notes what became of a batch, and has the next one written if there is more.
func (c *conn) wrote(batch []item, err error) {
	if err != nil {
		if isTimeout(err) {
			c.g.metrics.slow.Inc()
		}
		c.cancel() // the reader ends, and releases; writing stays true
		return
	}
	c.g.delivered.taken(c, batch)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing = !c.queue.empty() || c.closing.code != 0; c.writing {
		c.g.writers.add(c)
		return
	}
	c.queue.clear()
}

// end closes the connection with the code that was decided on, and waits for the answer.
func (c *conn) end() {
	c.g.metrics.closed(c.closing.code)
	_ = c.ws.Close(c.closing.code, c.closing.reason) // the peer may be gone
	c.cancel()
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}
