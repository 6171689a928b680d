package state

import "sync/atomic"

// TimeOf remembers when a message of a channel was posted: not state, a memory of the log. Readers
// keep it too, for which they need RLock only: all who do so at once find the same.
type TimeOf struct {
	Seq atomic.Uint32
	at  atomic.Int64
}

// Set is for whoever folds.
func (m *TimeOf) Set(seq uint32, at int64) {
	m.at.Store(at)
	m.Seq.Store(seq)
}

// of is the time of message seq of c, which must exist.
func (m *TimeOf) of(p *State, c *Channel, seq uint32) int64 {
	if m.Seq.Load() == seq {
		return m.at.Load()
	}
	e := p.EntryAt(c, seq)
	m.Set(seq, e.Time)
	return e.Time
}

// LatestAt is the time of the newest live counted message, 0 if there is none.
func (p *State) LatestAt(c *Channel) int64 {
	switch x := p.ExtraOf(c); {
	case c.Latest == 0:
		return 0
	case c.Latest == c.HeadSeq:
		return c.Time
	case x == nil: // not so: what is newer does not count, or is deleted
		e := p.EntryAt(c, c.Latest)
		return e.Time
	default:
		return x.Latest.of(p, c, c.Latest)
	}
}

// RepliedAt is the time of the thread's newest live reply, which is message seq.
func (t *Thread) RepliedAt(p *State, c *Channel, seq uint32) int64 {
	return t.Replied.of(p, c, seq)
}
