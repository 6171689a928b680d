package proxy

import "time"

// set changes the line's state and wakes up waiting goroutines.
func (l *Line) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	close(l.changed)
	l.changed = make(chan struct{})
}

// await returns true once nothing blocks a direction, or false if stop ended first.
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

// reserve returns how long the line needs to send n more bytes.
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
