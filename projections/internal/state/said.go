package state

import (
	"slices"

	"github.com/tidemark/tidemark/events"
)

// Said is what a user says of a channel beside reading it (DESIGN §4.7). The zero Said says
// nothing. RowMuted says whether Level is LevelNone, for whom that is all there is to know.
type Said struct {
	Lasting   events.Level // without an until
	Timed     events.Level // that stands in front of it until Until
	IgnoreAll bool         // mentions of all are none
	Until     int64        // Unix milliseconds; 0 = there is no Timed
	Flag      Since        // the channel is to be seen, until a later own post
	Filed     Filed        // the channel is listed apart
	Line      Line
	Labels    []string // ascending
}

// Since is what separates the posts that are later than something a user said from all others: a
// head if they stated one, else a time. The zero Since stands for something that was not said.
type Since struct {
	Is          bool
	HeadSeq     uint32
	At, Horizon int64 // without a HeadSeq; Horizon is the log time at which it lapses
}

// Line is a place to come back to, as it was said: by id or by seq. The zero Line is none.
type Line struct {
	ID  string
	Seq uint32
}

// Equal reports whether two say the same.
func (s *Said) Equal(o *Said) bool {
	return s.Lasting == o.Lasting && s.Timed == o.Timed && s.IgnoreAll == o.IgnoreAll && s.Until == o.Until && s.Flag == o.Flag && s.Line == o.Line &&
		s.Filed.Same(&o.Filed) && slices.Equal(s.Labels, o.Labels)
}

// Plain reports whether RowMuted says it all.
func (s *Said) Plain() bool {
	return s.PlainRow() && s.PlainRest()
}

// PlainRow reports whether RowMuted says all that a row's record has room for.
func (s *Said) PlainRow() bool { return s.PlainLevel() && !s.Flag.Is && !s.Filed.Is }

// PlainLevel reports whether RowMuted says all there is of the level.
func (s *Said) PlainLevel() bool {
	return s.Until == 0 && !s.IgnoreAll && s.Lasting != events.LevelMentions
}

// PlainRest reports whether there is nothing that needs a record of its own.
func (s *Said) PlainRest() bool { return s.Line == (Line{}) && len(s.Labels) == 0 }

// Level is the level as it was said, whether Until has passed or not: no clock is asked here.
func (s *Said) Level() events.Level {
	if s.Until != 0 {
		return s.Timed
	}
	return s.Lasting
}

// After is the level that holds again after Until, LevelAll without one.
func (s *Said) After() events.Level {
	if s.Until != 0 {
		return s.Lasting
	}
	return events.LevelAll
}

// SaidOf is what the user of a row in a channel says of it.
func (p *State) SaidOf(r *Row) Said {
	if x := p.ExtraOfPair(r); x != nil && x.Said != nil {
		return *x.Said
	}
	if r.Flags&RowMuted != 0 {
		return Said{Lasting: events.LevelNone}
	}
	return Said{}
}

// ExtraSaid is what the user of a row says and RowMuted does not, nil for nothing.
func (p *State) ExtraSaid(r *Row) *Said {
	if x := p.ExtraOfPair(r); x != nil {
		return x.Said
	}
	return nil
}

// SetSaid replaces what the user of a row in a channel says of it. What RowMuted says takes no
// memory beside it.
func (p *State) SetSaid(ref uint32, r *Row, s Said) {
	if r.Flags &^= RowMuted; s.Level() == events.LevelNone {
		r.Flags |= RowMuted
	}
	p.TouchRow(ref, r)
	was := p.ExtraSaid(r)
	rest := was != nil && !was.PlainRest() || !s.PlainRest()
	if s.Plain() {
		if was != nil {
			x := p.ExtraOfPair(r)
			x.Said, x.SaidDirty = nil, x.SaidDirty || rest
			p.TouchPairExtra(ref, r) // the extra may go with the next cut
			p.SaidPairs--
		}
		return
	}
	if was == nil {
		p.SaidPairs++
	}
	x := p.EnsurePairExtra(r)
	if x.Said = &s; rest {
		x.SaidDirty = true
		p.TouchPairExtra(ref, r)
	}
}

// LoadSaid is what a stored record of the user of a row adds to.
func (p *State) LoadSaid(r *Row) *Said {
	x := p.EnsurePairExtra(r)
	if x.Said == nil {
		x.Said = &Said{}
		if r.Flags&RowMuted != 0 {
			x.Said.Lasting = events.LevelNone
		}
		p.SaidPairs++
	}
	return x.Said
}

// IgnoresAll reports whether mentions of all are none for the user of a row in a channel.
func (p *State) IgnoresAll(r *Row) bool {
	s := p.ExtraSaid(r)
	return s != nil && s.IgnoreAll
}

// OnlySaid reports whether all there is in an extra is what its user says and hides: that waits for
// nothing.
func (x *PairExtra) OnlySaid() bool {
	said, hidden := x.Said, x.Hidden
	x.Said, x.Hidden = nil, nil
	only := x.Empty()
	x.Said, x.Hidden = said, hidden
	return only
}
