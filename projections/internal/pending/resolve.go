package pending

import (
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// LapseAfter is how far log time may move past an event that waits: 7 days (DESIGN §4.3).
const LapseAfter = 7 * 24 * 3600 * 1000

// MaxUnsettled is the number of events of a user that may be held in a scope (DESIGN §4.3).
const MaxUnsettled = 1000

// Resolve closes what the timeline has decided. It reports whether the event is still alive: a
// waiting read that lapsed, or a mark whose message or head lapsed, is void.
func (p *Held) Resolve(c *state.Channel, r *state.Row, h *state.PendingEvent) bool {
	lapsed := p.MessageTime > h.Horizon
	if !h.Closed && h.By == state.ByID {
		switch x, ok, late := p.awaited(c, h, h.ID, &h.Sought); {
		case ok && h.Kind == state.KindSingle && !p.InScope(c, r, x):
			return false // another scope's
		case ok:
			h.Closed, h.Seq = true, x.Seq
		case late && h.Kind == state.KindMark && h.Seq != 0:
			h.By = state.BySeq
		case late:
			return false
		}
	}
	if !h.Closed {
		switch h.By {
		case state.BySeq:
			if c.HeadSeq >= h.Seq {
				if !p.Visible(c, h.Seq, h.Horizon) || (h.Kind == state.KindMark && !p.NamedBySeq(c, h.Seq, h.Now)) {
					return false
				}
				h.Closed = true
			} else if lapsed {
				return false
			}
		case state.ByTime:
			if (c.HeadSeq > 0 && c.Time > h.Time) || lapsed {
				h.Closed, h.Seq = true, p.SeqAt(c, h.Time, h.Horizon)
			}
		}
	}
	if h.Kind == state.KindMark && !h.Head {
		switch h.HeadBy {
		case state.ByID:
			switch x, ok, late := p.awaited(c, h, h.HeadID, &h.SoughtHead); {
			case ok:
				h.Head, h.HeadSeq = true, x.Seq
			case late:
				return false
			}
		default:
			if seq, final := p.headAt(c, state.FloorSpec{By: h.HeadBy, Val: h.HeadVal(), Horizon: h.Horizon}); final {
				h.HeadSeq, h.Head = seq, true
			}
		}
	}
	return true
}

// provisional reports whether an open mark that names a message by an id and by a seq has that of
// the seq for now: the id is not there, and what is at the seq is named by it. Should the id turn
// up in time, it wins; then the seq stands (resolve).
func (p *Held) provisional(c *state.Channel, h *state.PendingEvent) bool {
	return h.Kind == state.KindMark && h.By == state.ByID && p.NamedBySeq(c, h.Seq, h.Now) && p.Visible(c, h.Seq, h.Horizon)
}

// awaited is lookup for what is held. It looks only at what was posted since it was called last:
// all that a pair holds is resolved with each of its events, and a thousand searches in the log for
// one event would let one user stop a partition. late says that no message that is posted from now
// on can be it.
func (p *Held) awaited(c *state.Channel, h *state.PendingEvent, id []byte, s *state.Sought) (x history.Indexed, ok, late bool) {
	if c.HeadSeq > s.Head {
		find := p.LookupTail
		if s.Head == 0 || c.HeadSeq-s.Head > history.BlockLen {
			find = p.Lookup
		}
		hash := state.IDHash(id)
		x, ok = find(c, id, hash, h.Now)
		if !ok || c.Flags&state.ChannelReposted != 0 {
			o, any := find(c, id, hash, state.AnyAge)
			s.Expired = s.Expired || (any && h.Now-o.Time > p.Settings.IndexRetention)
		}
		s.Head = c.HeadSeq
	}
	until := h.Horizon
	if s.Expired {
		until = min(until, h.Now)
	}
	return x, ok && x.LogTime <= until, p.MessageTime > until
}

// NamedBySeq reports whether a seq names the message there: one that is seeded, or older than the
// index when the log time of the event's own topic is now (DESIGN §4.1).
func (p *Held) NamedBySeq(c *state.Channel, seq uint32, now int64) bool {
	if seq == 0 || seq > c.HeadSeq {
		return false
	}
	if seq <= p.SeedOf(c) {
		return true
	}
	e := p.EntryAt(c, seq)
	return now-e.Time > p.Settings.IndexRetention
}

// ResolveHeld is resolve for what is held: what turns out to be expired is looked at again as soon
// as it cannot be anything else.
func (p *Held) ResolveHeld(ref uint32, c *state.Channel, r *state.Row, h *state.PendingEvent) (alive bool) {
	was := h.ExpiredID()
	alive = p.Resolve(c, r, h)
	if alive && !was && h.ExpiredID() {
		p.Lapses.Push(h.Now, ref)
	}
	return alive
}
