package state

import "sync/atomic"

// TimeOf caches when a message of a channel was posted. It is derived from the log. Readers may set
// it under RLock, because all of them store the same value.
type TimeOf struct {
	Seq   atomic.Uint32
	at    atomic.Int64
	final atomic.Bool // at is the block's time (State.Told)
}

// Set is for the goroutine that folds.
func (m *TimeOf) Set(seq uint32, at int64) { m.set(seq, at, false) }

func (m *TimeOf) set(seq uint32, at int64, final bool) {
	if m.Seq.Load() != seq {
		m.final.Store(false)
	}
	m.at.Store(at)
	m.final.Store(final)
	m.Seq.Store(seq)
}

// of returns the time of message seq of c, which must exist, as answers state it.
func (m *TimeOf) of(p *State, c *Channel, seq uint32) int64 {
	if m.Seq.Load() == seq {
		final, at := m.final.Load(), m.at.Load()
		if final || p.Remembers(at, c.LogTime) {
			return at
		}
	}
	e := p.EntryAt(c, seq)
	at, final := p.Told(c, &e)
	m.set(seq, at, final)
	return at
}

// LatestAt returns the time of the newest live counted message, or 0.
func (p *State) LatestAt(c *Channel) int64 {
	switch x := p.ExtraOf(c); {
	case c.Latest == 0:
		return 0
	case c.Latest == c.HeadSeq:
		return c.Time
	case x == nil: // cannot be: newer messages are uncounted or deleted, so there is an extra
		return p.ToldAt(c, c.Latest)
	default:
		return x.Latest.of(p, c, c.Latest)
	}
}

// RepliedAt returns the time of the thread's newest live reply, which is message seq.
func (t *Thread) RepliedAt(p *State, c *Channel, seq uint32) int64 {
	return t.Replied.of(p, c, seq)
}
