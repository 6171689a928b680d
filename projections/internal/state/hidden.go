package state

import (
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/seqset"
)

// Hidden is the set of messages that are in none of a user's numbers (DESIGN §4.7), in any scope:
// the user's row in the channel has those of its threads too.
type Hidden struct {
	From    seqset.Set // hidden from the user by their producer
	Own     seqset.Set // hidden singly by the user, above To
	To      uint32     // the user hid everything up to here, including messages that are posted later
	ToDirty bool       // the record of To is out of date
}

// Empty reports whether nothing is hidden.
func (h *Hidden) Empty() bool { return h == nil || h.NoneOwn() && h.From.Empty() && !h.ToDirty }

// NoneOwn reports whether the user hid nothing.
func (h *Hidden) NoneOwn() bool { return h == nil || h.To == 0 && h.Own.Empty() }

// Erase removes everything that the user hid. Messages that a producer hid from the user belong to
// the timeline and stay.
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

// Ahead reports whether messages that are not posted yet are hidden.
func (h *Hidden) Ahead(c *Channel) bool { return h != nil && h.To > c.HeadSeq }

// Clone returns a read-only copy that later changes of h do not affect.
func (h *Hidden) Clone() *Hidden {
	return &Hidden{From: *h.From.Clone(), Own: *h.Own.Clone(), To: h.To}
}

// HeapBytes returns the memory of the sets.
func (h *Hidden) HeapBytes() int64 {
	if h == nil {
		return 0
	}
	return arena.ObjectBytes[Hidden]() + h.From.HeapBytes() + h.Own.HeapBytes()
}

// HiddenOf returns the hidden messages of the user of a row, or nil.
func (p *State) HiddenOf(r *Row) *Hidden {
	if r.Flags&RowThread != 0 {
		r = p.Rows.At(p.FollowOf(r).Pair)
	}
	if x := p.ExtraOfPair(r); x != nil {
		return x.Hidden
	}
	return nil
}

// EnsureHidden is HiddenOf that creates the set if needed.
func (p *State) EnsureHidden(r *Row) *Hidden {
	x := p.EnsurePairExtra(r)
	if x.Hidden == nil {
		x.Hidden = &Hidden{}
	}
	return x.Hidden
}

// IsHiddenFrom reports whether a message is hidden from the user of a row by its producer.
func (p *State) IsHiddenFrom(r *Row, seq uint32) bool {
	h := p.HiddenOf(r)
	return h != nil && h.From.Contains(seq)
}

// NeedsNewFormat records that a channel has records that builds before NewestFormat misread. It
// holds forever, because whether a record is left depends on which topic is folded first.
func (p *State) NeedsNewFormat(ci uint32, c *Channel) {
	if c.Flags&ChannelNewFormat == 0 {
		c.Flags |= ChannelNewFormat
		p.Customized++
		p.TouchChannel(ci, c)
	}
}
