package state

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/identity"
)

// PosAt returns the number of counted messages up to seq.
func (p *State) PosAt(c *Channel, seq uint32) uint32 {
	if seq == 0 {
		return 0
	}
	if seq >= c.HeadSeq {
		return c.HeadPos
	}
	if x := p.ExtraOf(c); x != nil {
		return seq - x.Uncounted.Rank(seq)
	}
	return seq
}

// PositionsOf replaces seqs of counted messages by their positions, in place.
func (p *State) PositionsOf(c *Channel, seqs []uint32) []uint32 {
	for i, q := range seqs {
		seqs[i] = p.PosAt(c, q)
	}
	return seqs
}

// StampOf returns the stamp of one (user, channel) (DESIGN §2).
func (p *State) StampOf(c *Channel, r *Row) events.Stamp {
	return events.Stamp{FoldVersion: identity.FoldVersion, M: c.LastM, R: p.LastR(r), D: p.RareOf(r).LastD}
}
