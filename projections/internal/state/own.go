package state

import "github.com/tidemark/tidemark/projections/internal/history"

// Posting a message reads up to it, by the store's setting or by what its producer said of it
// (DESIGN §4.7). Row.LastOwn is the newest own post, whether it reads or not: none of them is
// unread. Most users post nothing Contrary, so the newest that reads is kept only where the setting
// and LastOwn do not tell it.

// OwnPost is an own post that reads.
type OwnPost struct {
	Seq uint32
	At  int64

	Kept *OwnReads // where sending does not read; nil while nobody needs it
}

// OwnReads are the own posts above From that read, ascending: not state, a memory of the log.
type OwnReads struct {
	From uint32
	Seqs []uint32
}

// NewestRead is the newest own post of a row's scope that reads, and its time; 0 if there is none.
func (p *State) NewestRead(r *Row) (seq uint32, at int64) {
	if x := p.ExtraOfPair(r); x != nil && x.Read != nil {
		return x.Read.Seq, x.Read.At
	}
	if !p.Settings.SendMarksRead {
		return 0, 0
	}
	return r.LastOwn, r.OwnAt
}

// NoteOwn makes a message the newest own post of a row's scope, and returns the one before it that
// reads.
func (p *State) NoteOwn(ref uint32, r *Row, e *history.Entry) (before uint32) {
	before, at := p.NewestRead(r)
	switch x := p.ExtraOfPair(r); {
	case e.Flags&history.Contrary == 0:
		if x != nil && x.Read != nil && p.Settings.SendMarksRead {
			x.Read = nil
			p.TouchPairExtra(ref, r) // the extra may go with the next cut
		}
	case p.Settings.SendMarksRead:
		p.EnsurePairExtra(r).Read = &OwnPost{Seq: before, At: at}
	default:
		x = p.EnsurePairExtra(r)
		if x.Read == nil {
			x.Read = &OwnPost{}
		}
		if x.Read.Seq, x.Read.At = e.Seq, e.Time; x.Read.Kept != nil {
			x.Read.Kept.Seqs = append(x.Read.Kept.Seqs, e.Seq)
		}
	}
	r.LastOwn, r.OwnAt = e.Seq, e.Time
	p.TouchRow(ref, r)
	return before
}

// ReadBefore is where to look for the own post before e in the row's scope that reads, 0 if there
// is none: what is there reads, or names one that does. Unless Contrary, e reads.
func ReadBefore(e *history.Entry, inThread bool) uint32 {
	switch {
	case e.Flags&history.Contrary == 0 && inThread:
		return e.PrevIn
	case e.Flags&history.Contrary == 0:
		return e.PrevOwn
	case inThread:
		return e.ReadBeforeIn
	}
	return e.ReadBefore
}
