package rules

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// noteFarewell records that a read named a deleted channel. offset is the read's.
func (p *Fold) noteFarewell(ci uint32, m *events.Read, offset int64) {
	if p.Replaying {
		return
	}
	f := state.Retraction{Channel: ci, LastR: offset + 1, LastD: p.Positions[events.Deliveries]}
	if u := p.UserOf(m.UserID); u != 0 {
		if ref := p.RowOf(ci, u); ref != 0 { // the row is from before the deletion
			pair := p.Rows.At(ref)
			// A former owner may already have dropped the row, and published a stamp with the
			// position of all deliveries.
			x := p.EnsureRare(pair)
			x.LastR, x.LastD = offset+1, max(x.LastD, f.LastD)
			if len(m.ThreadID) > 0 {
				if ref = p.ThreadRowOf(p.ThreadOf(ci, m.ThreadID), u); ref != 0 {
					p.FollowOf(p.Rows.At(ref)).LastSeen = state.SeenUnknown
				}
			}
			if ref != 0 {
				p.PairChanged(ref)
				return
			}
		}
	}
	f.User = uint32(len(p.Origins))
	p.Origins = append(p.Origins, m.UserID...)
	f.Thread = uint32(len(p.Origins))
	p.Origins = append(p.Origins, m.ThreadID...)
	f.End = uint32(len(p.Origins))
	p.Retractions = append(p.Retractions, f)
}
