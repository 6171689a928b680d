package pending

import (
	"math"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Evaluate replays the held events over the base, with the timeline as it is now. An event that
// still waits has no effect yet.
func (p *Fold) Evaluate(c *state.Channel, r *state.Row, x *state.PairExtra) (ptr, floorH uint32, at, ev int64, threads held.WithThreads, singles *seqset.Set) {
	b, open := p.baseOf(r), p.openWithThreads(r)
	if len(x.Floors) > 0 {
		b.floorH = p.openFloor(c, x)
	}
	work := x.Singles.Clone()
	for i := range x.Unsettled {
		h := x.Unsettled[i]
		open = p.readOpen(&b.threads, c, open, h.Offset)
		switch h.Kind {
		case held.KindRead:
			if h.Closed {
				b.read(h.Seq, h.At, h.Offset)
			} else if h.By == held.ByTime {
				b.read(c.HeadSeq, h.At, h.Offset)
			}
		case held.KindWithThreads:
			b.threads.Raise(h.Seq, h.Offset)
		case held.KindSingle:
			if h.Closed && h.Seq > b.ptr {
				work.Add(h.Seq)
			}
		case held.KindMark:
			if (!h.Closed && !p.provisional(c, &h)) || (h.HeadBy == held.ByID && !h.Head) {
				continue
			}
			if !h.Head {
				h.HeadSeq = c.HeadSeq
			}
			h.Head = true
			if _, effective := p.mark(c, r, &b, work, &h, 0, true); effective {
				b.floorH = max(b.floorH, h.HeadSeq)
			}
		}
		work.RemoveTo(b.ptr)
	}
	p.readOpen(&b.threads, c, open, math.MaxInt64)
	return b.ptr, b.floorH, b.at, b.ev, b.threads, work
}
