package pending

import (
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// LapseAfter is how far log time may move past a waiting event: 7 days (DESIGN §4.3).
const LapseAfter = 7 * 24 * 3600 * 1000

// MaxUnsettled is how many events of a user a scope holds at most (DESIGN §4.3).
const MaxUnsettled = 1000

// Resolve closes an event that the timeline has decided, and reports whether the event is still
// alive. A waiting read that lapsed is void, and so is a mark whose message or head lapsed.
func (p *Fold) Resolve(c *state.Channel, r *state.Row, h *held.Event) bool {
	lapsed := p.MessageTime > h.Horizon
	p.noteNamed(c, h)
	if !h.Closed && h.By == held.ByID {
		switch x, ok, late := p.awaited(c, h, h.ID, &h.Sought); {
		case ok && h.Kind == held.KindSingle && !p.InScope(c, r, x):
			return false // the message is of another scope
		case ok:
			h.Closed, h.Seq = true, x.Seq
		case late && h.Kind == held.KindMark && h.Seq != 0:
			h.By = held.BySeq
		case late:
			return false
		}
	}
	if !h.Closed {
		switch h.By {
		case held.BySeq:
			if c.HeadSeq >= h.Seq {
				if !p.Visible(c, h.Seq, h.Horizon) || (h.Kind == held.KindMark && !p.names(c, h)) {
					return false
				}
				h.Closed = true
			} else if lapsed {
				return false
			}
		case held.ByTime:
			if (c.HeadSeq > 0 && c.Time > h.Time) || lapsed {
				h.Closed, h.Seq = true, p.SeqBefore(c, h.Time, h.Horizon, h.Now)
			}
		}
	}
	if h.Kind == held.KindMark && !h.Head {
		switch h.HeadBy {
		case held.ByID:
			switch x, ok, late := p.awaited(c, h, h.HeadID, &h.SoughtHead); {
			case ok:
				h.Head, h.HeadSeq = true, x.Seq
			case late:
				return false
			}
		default:
			if seq, final := p.headAt(c, h.Floor(p.Settings.TrimLog)); final {
				h.HeadSeq, h.Head = seq, true
			}
		}
	}
	return true
}

// provisional reports whether an open mark that names a message by id and by seq currently applies
// to the seq: the id has not appeared, and the seq alone names the message. If the id appears in
// time, the mark applies to it; otherwise the seq becomes final (Resolve).
func (p *Fold) provisional(c *state.Channel, h *held.Event) bool {
	return h.Kind == held.KindMark && h.By == held.ByID && p.names(c, h) && p.Visible(c, h.Seq, h.Horizon)
}

// awaited is Lookup for a held event. It searches only messages that were posted since its last
// call: each event of a pair resolves everything that the pair holds, and a thousand searches of
// the log per event would let one user stall a partition. late reports that no later message can
// match.
func (p *Fold) awaited(c *state.Channel, h *held.Event, id []byte, s *held.Sought) (x history.Indexed, ok, late bool) {
	if c.HeadSeq > s.Head {
		find, remembered := p.LookupTail, p.LookupTailRemembered
		if s.Head == 0 || c.HeadSeq-s.Head > history.BlockLen {
			find, remembered = p.Lookup, p.LookupRemembered
		}
		hash := state.IDHash(id)
		x, ok = find(c, id, hash, h.Now)
		if !ok || c.Flags&state.ChannelReposted != 0 || x.LogTime > h.Now {
			o, any := remembered(c, id, hash, h.Now)
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

// NamedBySeq reports whether a seq names its message: a seeded message, or one that is older than
// the index at log time now of the event's own topic (DESIGN §4.1).
func (p *Fold) NamedBySeq(c *state.Channel, seq uint32, now int64) bool {
	if seq == 0 || seq > c.HeadSeq {
		return false
	}
	if seq <= p.SeedOf(c) {
		return true
	}
	e := p.EntryAt(c, seq)
	return now-e.Time > p.Settings.IndexRetention
}

// names reports whether the seq of a mark names its message.
func (p *Fold) names(c *state.Channel, h *held.Event) bool {
	return h.Use&held.SeqNamed != 0 || p.NamedBySeq(c, h.Seq, h.Now)
}

// noteNamed notes that the seq of an open mark names its message, if the log ends: while the mark
// waits for its id, that message may be trimmed, and its block may be younger than it was.
func (p *Fold) noteNamed(c *state.Channel, h *held.Event) {
	if p.Settings.TrimLog && h.Kind == held.KindMark && !h.Closed && h.Seq != 0 && p.NamedBySeq(c, h.Seq, h.Now) {
		h.Use |= held.SeqNamed
	}
}

// ResolvePending is Resolve for a held event. If the event's id turns out to be expired,
// ResolvePending schedules another look for the time from which no other message can match.
func (p *Fold) ResolvePending(ref uint32, c *state.Channel, r *state.Row, h *held.Event) (alive bool) {
	was := h.ExpiredID()
	alive = p.Resolve(c, r, h)
	if alive && !was && h.ExpiredID() {
		p.Lapses.Push(h.Now, ref)
	}
	return alive
}
