package state

import (
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/seqset"
)

// Hidden is the messages that are in none of a user's numbers (DESIGN §4.7), whatever their scope:
// the row of the user in the channel has those of its threads too.
type Hidden struct {
	From    seqset.Set // hidden from the user by who posted them
	Own     seqset.Set // by themselves, above To
	To      uint32     // by themselves everything up to here, and what is posted up to here
	ToDirty bool       // the record of To is out of date
}

// Empty reports whether nothing is hidden.
func (h *Hidden) Empty() bool { return h == nil || h.NoneOwn() && h.From.Empty() && !h.ToDirty }

// NoneOwn reports whether the user hid nothing.
func (h *Hidden) NoneOwn() bool { return h == nil || h.To == 0 && h.Own.Empty() }

// Erase forgets what the user hid. What is hidden from them is the timeline's.
func (h *Hidden) Erase() {
	if h == nil {
		return
	}
	h.Own.RemoveFrom(1)
	h.ToDirty = h.ToDirty || h.To != 0
	h.To = 0
}

// Has reports whether a message is hidden.
func (h *Hidden) Has(seq uint32) bool {
	return h != nil && (seq <= h.To || h.Own.Contains(seq) || h.From.Contains(seq))
}

// Ahead reports whether something that is not posted yet is hidden.
func (h *Hidden) Ahead(c *Channel) bool { return h != nil && h.To > c.HeadSeq }

// Clone is a copy that no change of h reaches; it is read only.
func (h *Hidden) Clone() *Hidden {
	return &Hidden{From: *h.From.Clone(), Own: *h.Own.Clone(), To: h.To}
}

// HeapBytes is the memory of what is hidden.
func (h *Hidden) HeapBytes() int64 {
	if h == nil {
		return 0
	}
	return arena.ObjectBytes[Hidden]() + h.From.HeapBytes() + h.Own.HeapBytes()
}

// HiddenOf is what is hidden for the user of a row, nil for nothing.
func (p *State) HiddenOf(r *Row) *Hidden {
	if r.Flags&RowThread != 0 {
		r = p.Rows.At(p.Follows.At(r.Scope).Pair)
	}
	if x := p.ExtraOfPair(r); x != nil {
		return x.Hidden
	}
	return nil
}

// EnsureHidden is HiddenOf for a row in a channel of which something is to be hidden.
func (p *State) EnsureHidden(r *Row) *Hidden {
	x := p.EnsurePairExtra(r)
	if x.Hidden == nil {
		x.Hidden = &Hidden{}
	}
	return x.Hidden
}

// IsHiddenFrom reports whether a message does not exist for the user of a row.
func (p *State) IsHiddenFrom(r *Row, seq uint32) bool {
	h := p.HiddenOf(r)
	return h != nil && h.From.Contains(seq)
}

// NeedsNewFormat notes that a channel has records that builds before NewestFormat misread. It holds
// for good: whether a record is left depends on which topic is folded first.
func (p *State) NeedsNewFormat(ci uint32, c *Channel) {
	if c.Flags&ChannelNewFormat == 0 {
		c.Flags |= ChannelNewFormat
		p.SaidPairs++
		p.TouchChannel(ci, c)
	}
}
