package rules

import (
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/pending"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Scope is the effect of a user's reads on one scope at this position: the pointer as shown, and
// the single reads above it.
type Scope struct {
	Pointer uint32 // includes own posts
	At, Ev  int64
	Singles *seqset.Set
	Skip    *seqset.Set // messages read singly or hidden
	Own     []uint32    // own posts above Pointer, ascending; nil if there cannot be any
	// HiddenTo is the seq up to which the user hid everything. It may be beyond Pointer.
	HiddenTo uint32
	ahead    bool             // HiddenTo is beyond the head: new messages are hidden without a delta
	threads  held.WithThreads // only for a thread: how far reads of the channel with its threads reach
	hidden   *seqset.Set      // messages that the user hid singly; nil for none
}

// NoSingles is the empty set that scopes without single reads share; nothing writes to it.
var NoSingles seqset.Set

// ScopeOf evaluates a row. It changes nothing, so that readers may call it.
func (p *Fold) ScopeOf(c *state.Channel, r *state.Row) Scope {
	s := p.PointerOf(c, r)
	if r.LastOwn > s.Pointer {
		var kept bool
		if s.Own, kept = p.KeptOwn(r, s.Pointer); !kept {
			s.Own = p.OwnSince(c, r, s.Pointer)
		}
	}
	if h := p.HiddenOf(r); h != nil {
		s.hide(c, h)
	}
	return s
}

// PointerOf is ScopeOf without own posts above the pointer and without hidden messages.
func (p *Fold) PointerOf(c *state.Channel, r *state.Row) Scope {
	s := Scope{Pointer: r.Pointer, At: r.At(), Ev: r.Event(), Singles: &NoSingles}
	floorH, evaluated := p.RareOf(r).OwnFloor, false
	if x := p.ExtraOfPair(r); x != nil {
		s.Singles = &x.Singles
		if len(x.Unsettled)+len(x.Floors) > 0 {
			s.Pointer, floorH, s.At, s.Ev, s.threads, s.Singles = p.Evaluate(c, r, x)
			evaluated = true
		}
	}
	if r.Flags&state.RowThread != 0 && !evaluated {
		s.threads = p.WithThreadsOf(c, r)
	}
	if s.Ev == pending.EvOwn && p.Settings.TrimLog && s.Pointer > 0 {
		s.At = p.ToldAt(c, s.Pointer)
	}
	if own, at := p.NewestRead(r); own > floorH && own >= s.Pointer {
		s.Pointer, s.At, s.Ev = own, at, OwnPost
	}
	s.Skip = s.Singles
	return s
}

// OwnPost stands for the record of the newest own post, whose offset is in its log entry.
const OwnPost = -1

// from returns the seq above which messages can be unread.
func (s *Scope) from(c *state.Channel, r *state.Row) uint32 {
	return max(s.Pointer, r.Baseline, c.Floor, s.HiddenTo)
}

// hide makes a scope skip hidden messages. Nearly always it skips one set, which is counted by
// rank; of several it makes the union.
func (s *Scope) hide(c *state.Channel, h *state.Hidden) {
	s.HiddenTo, s.ahead = min(h.To, c.HeadSeq), h.To > c.HeadSeq
	s.skip(&h.From)
	if !h.Own.Empty() {
		s.hidden = &h.Own
		s.skip(s.hidden)
	}
}

// skip adds a set to the messages that the scope skips.
func (s *Scope) skip(set *seqset.Set) {
	switch {
	case set.Max() <= s.Pointer:
	case s.Skip.Max() <= s.Pointer:
		s.Skip = set
	default:
		less, union := s.Skip, set
		if less.Count() > union.Count() {
			less, union = union, less
		}
		union = union.Clone()
		for q := less.Next(s.Pointer + 1); q != 0; q = less.Next(q + 1) {
			union.Add(q)
		}
		s.Skip = union
	}
}

// LastOwn returns the newest own post of the row's scope that reads, and its time.
func (p *Fold) LastOwn(r *state.Row) (seq uint32, at int64) {
	if p.Erased(r) {
		return 0, 0
	}
	return p.NewestRead(r)
}

// furthestEver returns the furthest seq that the user ever read in the row's scope, own posts
// included.
func (p *Fold) furthestEver(r *state.Row) uint32 {
	own, _ := p.LastOwn(r)
	return max(p.Far(r), own)
}

// FollowsTime reports whether the user has a read up to a time that later messages can still fall
// before. Each such message moves the user's pointer. The caller holds RLock.
func (p *Fold) FollowsTime(userID, channelID string) bool {
	ci, _, ok := p.KnownChannel(channelID)
	if !ok {
		return false
	}
	x := p.ExtraOfPair(p.PairOrNone(ci, userID))
	return x != nil && x.OpenInTime()
}
