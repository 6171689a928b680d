package state

import (
	"bytes"
	"sync/atomic"
)

// Filed says that a user filed a channel: it is listed apart until there is news, which is the
// first counted message of others that is later and exists for the user (DESIGN §4.7). The zero
// Filed stands for a channel that is not filed.
type Filed struct {
	Since
	Keep  bool // there is no news
	Found *Found
}

// Found is what was found while news was looked for. It is a memory of the log and no state, so
// that whoever answers may write it.
type Found struct {
	at         atomic.Uint64 // twice the seq below which nothing is news; one more if that message is; 0: nobody looked
	TellsLater bool          // a delta follows as soon as Decided, see rules/filed.go
}

// File is a Filed with nothing found yet.
func File(since Since, keep bool) Filed { return Filed{Since: since, Keep: keep, Found: &Found{}} }

// Same reports whether two say the same.
func (f *Filed) Same(o *Filed) bool { return f.Since == o.Since && f.Keep == o.Keep }

// Decided reports whether all that is posted from now on is later. It goes by the channel's own
// log time, so that it is a function of what the stamp of a delta says.
func (s *Since) Decided(c *Channel) bool {
	if s.HeadSeq != 0 {
		return c.HeadSeq >= s.HeadSeq
	}
	return c.Time > s.At || c.LogTime > s.Horizon
}

// News is the message that ends the filing of a row's user, 0 while there is none.
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
		q = p.SeqAt(c, f.At, f.Horizon) + 1
	}
	q = p.othersFrom(c, r, q)
	if q > c.HeadSeq {
		f.Found.at.Store(uint64(q) << 1)
		return 0
	}
	f.Found.at.Store(uint64(q)<<1 | 1)
	return q
}

// othersFrom is the first counted message at or after a seq that others posted and that exists for
// the user of a row, whatever became of it; the one after the head if there is none.
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

// isBy reports whether the user of a row posted a message.
func (p *State) isBy(c *Channel, seq uint32, r *Row) bool {
	e := p.EntryAt(c, seq)
	return bytes.Equal(e.Sender, p.UserID(r.User))
}
