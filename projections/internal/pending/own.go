package pending

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// EvRead encodes the offset of a record of chat.reads for Row.Event.
func EvRead(off int64) int64 { return off << 1 }

// evMessage encodes the offset of a record of chat.messages.
func evMessage(off int64) int64 { return off<<1 | 1 }

// EvOwn stands for record and time of the own post at the pointer, if the log may trim both.
const EvOwn = 1

// OwnSince reads the own posts of a row's scope above low from the log, ascending.
func (p *Fold) OwnSince(c *state.Channel, r *state.Row, low uint32) (own []uint32) {
	for q := r.LastOwn; q > low; {
		own = append(own, q)
		e := p.EntryAt(c, q)
		q = state.Previous(&e, r)
	}
	slices.Reverse(own)
	return own
}

// KeptOwn returns the row's own posts above low, ascending, if they are in memory.
func (p *Fold) KeptOwn(r *state.Row, low uint32) (own []uint32, kept bool) {
	x := p.ExtraOfPair(r)
	if x == nil || !x.OwnKept || x.OwnFrom > low {
		return nil, false
	}
	i, _ := slices.BinarySearch(x.Own, low+1)
	return x.Own[i:], true
}

// ownIn returns the newest own post in (low, high] that reads, with its time and record, or 0.
func (p *Fold) ownIn(c *state.Channel, r *state.Row, low, high uint32) (seq uint32, at, ev int64) {
	s, _ := p.NewestRead(r)
	if kept := p.keptReads(r); s > high && len(kept) > 0 {
		i, _ := slices.BinarySearch(kept, high+1)
		s = kept[max(i, 1)-1]
	}
	for s > low {
		e := p.EntryAt(c, s)
		if s <= high && e.Reads(p.Settings.SendMarksRead) {
			if p.Settings.TrimLog {
				return s, 0, EvOwn
			}
			return s, e.Time, evMessage(e.Offset)
		}
		s = state.ReadBefore(&e, r.Flags&state.RowThread != 0)
	}
	return 0, 0, 0
}

// keptReads returns the newest own posts of a row's scope that are in memory, ascending. If sending
// reads by default, the list includes posts that do not read; each of those links to the previous
// post that does. If sending does not read by default, the list has only posts that read.
func (p *Fold) keptReads(r *state.Row) []uint32 {
	switch x := p.ExtraOfPair(r); {
	case x == nil:
		return nil
	case p.Settings.SendMarksRead:
		return x.Own
	case x.Read != nil && x.Read.Kept != nil:
		return x.Read.Kept.Seqs
	}
	return nil
}

// keepPendingOwn keeps a user's own posts from the heads of their held marks on in memory, if
// evaluations need several of them: with two or more held events, or with a provisional mark.
// Reading them from the log would cost their number every time.
func (p *Fold) keepPendingOwn(c *state.Channel, r *state.Row, x *state.PairExtra) {
	if len(x.Unsettled) < 2 && !x.WaitsForSeq() {
		return
	}
	newest, _ := p.NewestRead(r)
	low := newest
	for i := range x.Unsettled {
		if h := &x.Unsettled[i]; h.Kind == held.KindMark && h.Head {
			low = min(low, h.HeadSeq)
		}
	}
	switch {
	case low >= newest:
	case p.Settings.SendMarksRead:
		if !x.OwnKept || x.OwnFrom > low {
			x.Own, x.OwnFrom, x.OwnKept = p.OwnSince(c, r, low), low, true
		}
	case x.Read.Kept == nil || x.Read.Kept.From > low:
		x.Read.Kept = &state.OwnReads{From: low, Seqs: p.readsSince(c, r, low)}
	}
}

// readsSince reads the own posts of a row's scope above low that read, from the log, ascending. It
// is for settings in which sending does not read.
func (p *Fold) readsSince(c *state.Channel, r *state.Row, low uint32) (seqs []uint32) {
	for s, _ := p.NewestRead(r); s > low; {
		seqs = append(seqs, s)
		e := p.EntryAt(c, s)
		s = state.ReadBefore(&e, r.Flags&state.RowThread != 0)
	}
	slices.Reverse(seqs)
	return seqs
}
