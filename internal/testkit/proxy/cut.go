package proxy

// cutting is a cut that was asked for.
type cutting struct {
	left int // how often it is still to happen
	done chan struct{}
	line *Line
	// find returns how much of b may pass before the cut, or -1 if all of it may and there is none. line.mu is held.
	find func(k *link, d Direction, b []byte) int
}

// happened counts a cut.
func (c *cutting) happened() {
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	c.left--
	if c.left > 0 {
		return
	}
	if c.left == 0 {
		close(c.done)
	}
	kept := c.line.cuts[:0]
	for _, other := range c.line.cuts {
		if other != c {
			kept = append(kept, other)
		}
	}
	c.line.cuts = kept
}

// CutAfter ends the connection over which the n-th byte from now passes in a direction (n >= 0), with that byte as the last.
// What is returned is closed when that has happened.
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

func (l *Line) cutWhen(times int, find func(*link, Direction, []byte) int) <-chan struct{} {
	c := &cutting{left: times, done: make(chan struct{}), line: l, find: find}
	l.set(func() { l.cuts = append(l.cuts, c) })
	return c.done
}

// inspect returns what of b may pass, and the cut that is due after it, if any is.
func (l *Line) inspect(k *link, d Direction, b []byte) ([]byte, *cutting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k.frames.follow(d, b)
	for _, c := range l.cuts {
		if n := c.find(k, d, b); n >= 0 && c.left > 0 {
			return b[:n], c
		}
	}
	return b, nil
}
