package proxy

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// Direction is one of the two in which bytes pass.
type Direction int

// The directions: what a client sends, and what it is answered.
const (
	Up   Direction = iota // from client to server
	Down                  // from server to client
)

func (d Direction) String() string { return [...]string{"up", "down"}[d] }

// errCut is what a dialer gets while a line is cut.
var errCut = errors.New("proxy: the line is cut")

// Line is what lies between clients and a server, with the faults that it has at present. Its methods may be called by
// several goroutines.
type Line struct {
	pumps sync.WaitGroup

	mu      sync.Mutex
	links   map[*link]struct{}
	changed chan struct{} // closed, and made anew, when something below changes
	closed  bool
	cut     bool
	frozen  [2]bool
	delay   time.Duration
	rate    int64        // bytes a second in each direction; 0: as fast as it goes
	free    [2]time.Time // when the line has sent what it was given
	cuts    []*cutting
	made    int
	passed  [2]int64
}

// NewLine is a line in order. It ends with the test.
func NewLine(t testing.TB) *Line {
	t.Helper()
	l := &Line{links: map[*link]struct{}{}, changed: make(chan struct{})}
	t.Cleanup(l.Close)
	return l
}

// set changes the line's state and wakes up who waits for it.
func (l *Line) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	close(l.changed)
	l.changed = make(chan struct{})
}

// all are the connections of now.
func (l *Line) all() []*link {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*link, 0, len(l.links))
	for k := range l.links {
		list = append(list, k)
	}
	return list
}

// Break ends all connections, with a reset where the network knows such. What is under way is lost. It returns how many
// there were.
func (l *Line) Break() int {
	list := l.all()
	for _, k := range list {
		k.end()
	}
	return len(list)
}

// Cut ends all connections and lets none be made until Mend. It returns how many there were.
func (l *Line) Cut() int {
	l.set(func() { l.cut = true })
	return l.Break()
}

// Freeze lets nothing pass in the directions given, both if none is, until Mend: connections stay open, and what is
// sent waits in the line as far as there is room. New connections wait, too.
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

// Abandon closes the server's ends of all connections and leaves the clients' open: they are half-open. What a client
// sends on one vanishes. New connections are whole. It returns how many there were.
func (l *Line) Abandon() int {
	list := l.all()
	for _, k := range list {
		k.abandon()
	}
	return len(list)
}

// SetDelay makes each byte that is sent from now on arrive so much later than it would.
func (l *Line) SetDelay(d time.Duration) { l.set(func() { l.delay = d }) }

// SetRate lets so many bytes a second pass in each direction, over all connections; 0: any number.
func (l *Line) SetRate(bytesPerSecond int64) { l.set(func() { l.rate = bytesPerSecond }) }

// Mend ends every fault, and every cut that was asked for and did not happen. Connections that are half-open stay so.
func (l *Line) Mend() {
	l.set(func() {
		l.cut, l.frozen, l.delay, l.rate, l.cuts = false, [2]bool{}, 0, 0, nil
	})
}

// Close ends all connections for good and returns when nothing of the line runs any more.
func (l *Line) Close() {
	l.set(func() { l.closed, l.cut = true, true })
	l.Break()
	l.pumps.Wait()
}

// Open is how many connections there are now.
func (l *Line) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.links)
}

// Made is how many connections there have been.
func (l *Line) Made() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made
}

// Passed is how many bytes have arrived in a direction.
func (l *Line) Passed(d Direction) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.passed[d]
}

// await returns true when nothing holds up a direction, false when stop ended first.
func (l *Line) await(d Direction, stop <-chan struct{}) bool {
	for {
		l.mu.Lock()
		frozen, changed := l.frozen[d], l.changed
		l.mu.Unlock()
		if !frozen {
			return true
		}
		select {
		case <-changed:
		case <-stop:
			return false
		}
	}
}

// reserve says when the line is free to have sent n bytes more.
func (l *Line) reserve(d Direction, n int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rate == 0 {
		return 0
	}
	now := time.Now()
	if l.free[d].Before(now) {
		l.free[d] = now
	}
	l.free[d] = l.free[d].Add(time.Duration(int64(n) * int64(time.Second) / l.rate))
	return l.free[d].Sub(now)
}
