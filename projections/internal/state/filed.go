package state

import (
	"bytes"
	"sync/atomic"
)

// Filed states that a user filed a channel. It is listed apart until there is news: the first
// counted message of somebody else that is later and exists for the user (DESIGN §4.7). The zero
// Filed is a channel that is not filed.
type Filed struct {
	Since
	Keep  bool // filed forever: nothing is news
	Found *Found
}

// Found caches the search for news. It is derived from the log, so readers may write it under
// RLock.
type Found struct {
	at         atomic.Uint64 // twice the seq below which nothing is news, plus one if that message is news; 0: not searched yet
	TellsLater bool          // a delta follows once Decided, see rules/filed.go
}

// File returns a Filed without a search result.
func File(since Since, keep bool) Filed { return Filed{Since: since, Keep: keep, Found: &Found{}} }

// Same reports whether two filings are equal.
func (f *Filed) Same(o *Filed) bool { return f.Since == o.Since && f.Keep == o.Keep }

// Decided reports whether every message from now on is later. It uses the channel's own log time,
// so it is a function of the position in a delta's stamp.
func (s *Since) Decided(c *Channel) bool {
	if s.HeadSeq != 0 {
		return c.HeadSeq >= s.HeadSeq
	}
	return c.Time > s.At || c.LogTime > s.Horizon
}

// CloseSince replaces the time of a decided Since by the seq that it stands for, if the log ends:
// later the log may no longer tell. A Since before all messages keeps its time. It reports whether
// anything changed.
func (p *State) CloseSince(c *Channel, s *Since) bool {
	if !s.Is || !s.Ends || s.HeadSeq != 0 || c.HeadSeq == 0 || !s.Decided(c) {
		return false
	}
	seq := p.SeqBefore(c, s.At, s.Horizon, s.Now)
	if seq == 0 {
		return false
	}
	*s = Since{Is: true, HeadSeq: seq}
	return true
}

// News returns the message that ends the filing of a row's user, or 0.
func (p *State) News(c *Channel, r *Row, f *Filed) uint32 {
	if !f.Decided(c) {
		return 0
	}
	at := f.Found.at.Load()
	if at&1 != 0 {
		return uint32(at >> 1)
	}
	q := uint32(at >> 1)
	switch {
	case at != 0:
	case f.HeadSeq != 0:
		q = f.HeadSeq + 1
	default:
		q = p.SeqBefore(c, f.At, f.Horizon, f.Now) + 1
	}
	q = p.othersFrom(c, r, q)
	if q > c.HeadSeq {
		f.Found.at.Store(uint64(q) << 1)
		return 0
	}
	f.Found.at.Store(uint64(q)<<1 | 1)
	return q
}

// othersFrom returns the first counted message at or after q that others posted and that was not
// hidden from the row's user, even if it was deleted since. If there is none it returns the seq
// after the head.
func (p *State) othersFrom(c *Channel, r *Row, q uint32) uint32 {
	x, h := p.ExtraOf(c), p.HiddenOf(r)
	for q <= c.HeadSeq {
		t := q
		if x != nil {
			t = x.Uncounted.NextAbsent(t)
		}
		if h != nil {
			t = h.From.NextAbsent(t)
		}
		if t == q {
			if q > r.LastOwn || !p.isBy(c, q, r) {
				return q
			}
			t++
		}
		q = t
	}
	return c.HeadSeq + 1
}

// isBy reports whether the user of a row in the channel posted a counted message.
func (p *State) isBy(c *Channel, seq uint32, r *Row) bool {
	e := p.EntryAt(c, seq)
	if !e.Trimmed {
		return bytes.Equal(e.Sender, p.UserID(r.User))
	}
	own := r.LastOwn
	for own > seq {
		e = p.EntryAt(c, own)
		own = e.PrevOwn
	}
	return own == seq
}
