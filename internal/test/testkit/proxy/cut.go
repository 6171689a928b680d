package proxy

// cutting is a requested cut.
type cutting struct {
	left int // how many cuts no link has taken
	open int // how many cuts have not happened
	done chan struct{}
	line *Line
	// find returns how much of b may pass before the cut, or -1 if there is no cut in b. line.mu is
	// held.
	find func(k *link, d Direction, b []byte) int
}

// failed gives back a cut whose connection ended otherwise.
func (c *cutting) failed() {
	if c == nil {
		return
	}
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	c.left++
}

// happened counts a cut.
func (c *cutting) happened() {
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	if c.open--; c.open > 0 {
		return
	}
	close(c.done)
	kept := c.line.cuts[:0]
	for _, other := range c.line.cuts {
		if other != c {
			kept = append(kept, other)
		}
	}
	c.line.cuts = kept
}

func (l *Line) cutWhen(times int, find func(*link, Direction, []byte) int) <-chan struct{} {
	c := &cutting{left: times, open: times, done: make(chan struct{}), line: l, find: find}
	l.set(func() { l.cuts = append(l.cuts, c) })
	return c.done
}

// inspect returns the part of b that may pass, and the cut that is due after it, if any. It takes that
// cut, so that a client that connects again at once meets no cut too many.
func (l *Line) inspect(k *link, d Direction, b []byte) ([]byte, *cutting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k.frames.follow(d, b)
	for _, c := range l.cuts {
		if n := c.find(k, d, b); n >= 0 && c.left > 0 {
			c.left--
			return b[:n], c
		}
	}
	return b, nil
}
