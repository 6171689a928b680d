package state

import "github.com/tidemark/tidemark/projections/internal/history"

// Posting a message reads up to it, by the store's setting or by the producer's choice (DESIGN
// §4.7). Row.LastOwn is the newest own post, whether it reads or not, because none of them is
// unread. Most users post no Contrary message. So the newest own post that reads is stored only if
// the setting and LastOwn do not determine it.

// OwnPost is an own post that reads.
type OwnPost struct {
	Seq uint32
	At  int64

	Kept *OwnReads // only if sending does not read by default; nil until needed
}

// OwnReads caches the own posts above From that read, ascending. It is derived from the log.
type OwnReads struct {
	From uint32
	Seqs []uint32
}

// NewestRead returns the newest own post of a row's scope that reads, and its time, or 0.
func (p *State) NewestRead(r *Row) (seq uint32, at int64) {
	if x := p.ExtraOfPair(r); x != nil && x.Read != nil {
		return x.Read.Seq, x.Read.At
	}
	if !p.Settings.SendMarksRead {
		return 0, 0
	}
	return r.LastOwn, r.OwnAt()
}

// NoteOwn makes a message the newest own post of a row's scope, and returns the previous one that
// reads.
func (p *State) NoteOwn(ref uint32, r *Row, e *history.Entry) (before uint32) {
	before, at := p.NewestRead(r)
	switch x := p.ExtraOfPair(r); {
	case e.Flags&history.Contrary == 0:
		if x != nil && x.Read != nil && p.Settings.SendMarksRead {
			x.Read = nil
			p.TouchPairExtra(ref, r) // the next cut may drop the extra
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
	r.SetOwn(e.Seq, e.Time)
	p.TouchRow(ref, r)
	return before
}

// ReadBefore returns where to look for the last own post before e in the row's scope that reads, or
// 0. The post there reads, or links to one that does. e reads, unless it is Contrary.
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
