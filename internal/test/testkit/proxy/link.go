package proxy

import (
	"io"
	"net"
	"sync"
	"time"
)

const (
	chunkBytes = 16 << 10
	// queuedChunks is how many chunks may be in transit in a direction, like the buffers of a
	// network. A sender that is further ahead waits.
	queuedChunks = 64
)

// link is one connection through a line: two ends, and a queue in each direction.
type link struct {
	line   *Line
	client net.Conn
	server net.Conn
	done   chan struct{} // closed when the link has ended

	mu        sync.Mutex
	ended     bool
	abandoned bool
	finished  int // directions that have ended

	frames frames // of Kafka, once CutKafka was called; guarded by line.mu
}

// chunk has the bytes of one read. An empty chunk is the end.
type chunk struct {
	bytes []byte
	due   time.Time
}

// join passes bytes between two ends until one of them is closed. It takes over both. It returns
// false if the line is cut.
func (l *Line) join(client, server net.Conn) bool {
	k := &link{line: l, client: client, server: server, done: make(chan struct{})}
	l.mu.Lock()
	if l.cut {
		l.mu.Unlock()
		reset(client)
		reset(server)
		return false
	}
	l.links[k] = struct{}{}
	l.made++
	l.pumps.Add(4)
	l.mu.Unlock()
	k.pump(Up, client, server)
	k.pump(Down, server, client)
	return true
}

// pump starts the goroutines that read one end and write to the other.
func (k *link) pump(d Direction, from, to net.Conn) {
	queue := make(chan chunk, queuedChunks)
	go func() {
		defer k.line.pumps.Done()
		k.read(from, queue)
	}()
	go func() {
		defer k.line.pumps.Done()
		k.write(d, queue, to)
	}()
}

// read reads from an end until it is closed.
func (k *link) read(from net.Conn, queue chan<- chunk) {
	for {
		b := make([]byte, chunkBytes)
		n, err := from.Read(b)
		if n > 0 {
			k.line.mu.Lock()
			due := time.Now().Add(k.line.delay)
			k.line.mu.Unlock()
			select {
			case queue <- chunk{b[:n], due}:
			case <-k.done:
				return
			}
		}
		if err != nil {
			select {
			case queue <- chunk{}:
			case <-k.done:
			}
			return
		}
	}
}

// write writes the chunks to the other end, when and as far as the line allows.
func (k *link) write(d Direction, queue <-chan chunk, to net.Conn) {
	for {
		var c chunk
		select {
		case c = <-queue:
		case <-k.done:
			return
		}
		if c.bytes == nil {
			k.finish(d, to)
			return
		}
		if !k.sleep(time.Until(c.due)) || !k.line.await(d, k.done) {
			return
		}
		through, hit := k.line.inspect(k, d, c.bytes)
		for len(through) > 0 {
			part := through[:min(len(through), 1<<10)]
			through = through[len(part):]
			if !k.sleep(k.line.reserve(d, len(part))) || !k.line.await(d, k.done) {
				hit.failed()
				return
			}
			if _, err := to.Write(part); err != nil {
				if k.isAbandoned() {
					break // discarded
				}
				k.end()
				hit.failed()
				return
			}
			k.line.mu.Lock()
			k.line.passed[d] += int64(len(part))
			k.line.mu.Unlock()
		}
		if hit != nil {
			k.end()
			hit.happened()
			return
		}
	}
}

// sleep returns false if the link ends first.
func (k *link) sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-k.done:
		return false
	}
}

// finish passes on that an end sends no more. The link ends when both ends have finished, or if the
// network cannot close one direction alone.
func (k *link) finish(d Direction, to net.Conn) {
	k.mu.Lock()
	if k.abandoned && d == Down {
		k.mu.Unlock()
		return // the client is not told
	}
	k.finished++
	both := k.finished == 2 || k.abandoned
	k.mu.Unlock()
	half, ok := to.(interface{ CloseWrite() error })
	if both || !ok || half.CloseWrite() != nil {
		k.close(func(c io.Closer) { _ = c.Close() }) // a clean end: everything written arrives
	}
}

func (k *link) isAbandoned() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.abandoned
}

// abandon closes the server's end alone.
func (k *link) abandon() {
	k.mu.Lock()
	k.abandoned = true
	k.mu.Unlock()
	reset(k.server)
}

// end closes both ends at once.
func (k *link) end() { k.close(reset) }

func (k *link) close(how func(io.Closer)) {
	k.mu.Lock()
	was := k.ended
	k.ended = true
	k.mu.Unlock()
	if was {
		return
	}
	close(k.done)
	how(k.client)
	how(k.server)
	k.line.mu.Lock()
	delete(k.line.links, k)
	k.line.mu.Unlock()
}

// reset closes a connection without sending buffered bytes.
func reset(c io.Closer) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it, Close still works
	}
	_ = c.Close() // it may be closed already
}
