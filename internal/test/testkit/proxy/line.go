package proxy

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Direction is one of the two directions of bytes.
type Direction int

// The directions.
const (
	Up   Direction = iota // from client to server
	Down                  // from server to client
)

func (d Direction) String() string { return [...]string{"up", "down"}[d] }

// errCut is the error of a dialer while its line is cut.
var errCut = errors.New("proxy: the line is cut")

// Line is the network between clients and a server, with its current faults. Several goroutines may
// call its methods.
type Line struct {
	pumps sync.WaitGroup

	mu      sync.Mutex
	links   map[*link]struct{}
	changed chan struct{} // closed and replaced when something below changes
	closed  bool
	cut     bool
	frozen  [2]bool
	delay   time.Duration
	rate    int64        // bytes per second in each direction; 0: unlimited
	free    [2]time.Time // when the line will have sent its bytes
	cuts    []*cutting
	made    int
	passed  [2]int64
}

// NewLine returns a line without faults. It ends with the test.
func NewLine(t testing.TB) *Line {
	t.Helper()
	l := &Line{links: map[*link]struct{}{}, changed: make(chan struct{})}
	t.Cleanup(l.Close)
	return l
}

// all returns the current connections.
func (l *Line) all() []*link {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*link, 0, len(l.links))
	for k := range l.links {
		list = append(list, k)
	}
	return list
}

// Break ends all connections, with a reset if the network has resets. Bytes in transit are lost. It
// returns the number of connections.
func (l *Line) Break() int {
	list := l.all()
	for _, k := range list {
		k.end()
	}
	return len(list)
}

// Cut ends all connections and refuses new ones until Mend. It returns the number of connections.
func (l *Line) Cut() int {
	l.set(func() { l.cut = true })
	return l.Break()
}

// Freeze stops all bytes in the given directions, or in both if none is given, until Mend.
// Connections stay open, and sent bytes wait in the line up to its capacity. New connections wait,
// too.
func (l *Line) Freeze(directions ...Direction) {
	if len(directions) == 0 {
		directions = []Direction{Up, Down}
	}
	l.set(func() {
		for _, d := range directions {
			l.frozen[d] = true
		}
	})
}

// Abandon closes the server's ends of all connections and leaves the clients' open: they are
// half-open. Bytes that a client sends on one vanish. New connections work. It returns the number
// of connections.
func (l *Line) Abandon() int {
	list := l.all()
	for _, k := range list {
		k.abandon()
	}
	return len(list)
}

// SetDelay delays each byte that is sent from now on.
func (l *Line) SetDelay(d time.Duration) { l.set(func() { l.delay = d }) }

// SetRate limits the bytes per second in each direction, over all connections; 0: unlimited.
func (l *Line) SetRate(bytesPerSecond int64) { l.set(func() { l.rate = bytesPerSecond }) }

// Mend ends every fault and every pending cut. Half-open connections stay half-open.
func (l *Line) Mend() {
	l.set(func() {
		l.cut, l.frozen, l.delay, l.rate, l.cuts = false, [2]bool{}, 0, 0, nil
	})
}

// Close ends the line with all its connections, and returns once its goroutines have ended.
func (l *Line) Close() {
	l.set(func() { l.closed, l.cut = true, true })
	l.Break()
	l.pumps.Wait()
}

// Open returns the number of open connections.
func (l *Line) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.links)
}

// Made returns the number of connections so far.
func (l *Line) Made() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made
}

// Passed returns the number of bytes that have arrived in a direction.
func (l *Line) Passed(d Direction) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.passed[d]
}

// CutAfter ends the connection over which the n-th byte from now passes in a direction (n >= 0),
// with that byte as the last. The returned channel is closed once that has happened.
func (l *Line) CutAfter(d Direction, n int64) <-chan struct{} {
	return l.cutWhen(1, func(_ *link, at Direction, b []byte) int {
		if at != d {
			return -1
		}
		if int64(len(b)) < n {
			n -= int64(len(b))
			return -1
		}
		return int(n)
	})
}

// Half is one half of an exchange with a broker.
type Half int

// The halves. The broker does not apply a request that is cut. It applies one whose answer is cut,
// without the client's knowledge.
const (
	Request Half = iota
	Answer
)

// CutKafka ends connections in the middle of the next requests of a kind, or of their answers, the
// given number of times. The returned channel is closed once that has happened.
func (l *Line) CutKafka(key kmsg.Key, half Half, times int) <-chan struct{} {
	return l.cutWhen(times, func(k *link, d Direction, _ []byte) int {
		if d != Direction(half) {
			return -1
		}
		for _, f := range k.frames.seen {
			if f.key == key.Int16() {
				return f.middle
			}
		}
		return -1
	})
}
