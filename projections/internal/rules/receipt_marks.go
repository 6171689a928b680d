package rules

import (
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// newReceipt adds a receipt to publish, if the message is small and the user can be its recipient.
func (p *Fold) newReceipt(ref uint32, c *state.Channel, r *state.Row, kind uint8, seq uint32, at int64) {
	if p.Replaying {
		return
	}
	pair := p.PairOf(r)
	if p.IsHiddenFrom(pair, seq) { // use the newest earlier message that is not hidden
		if r.Flags&state.RowThread != 0 {
			return
		}
		seq = p.HiddenOf(pair).From.PrevAbsent(seq)
	}
	from, ever := p.FirstMember(pair)
	if !ever || from >= seq || !p.IsSmall(c, seq) {
		return
	}
	if r.Flags&state.RowThread != 0 { // a thread's pointer may be at a message of the channel, which it does not read
		e := p.EntryAt(c, seq)
		if x := history.IndexedOf(&e); !p.InScope(c, r, x) {
			return
		}
	}
	if c.OutReceipts == 0 {
		p.OutReceiptChannels = append(p.OutReceiptChannels, receipts.Group{Channel: r.Channel})
		c.OutReceipts = uint32(len(p.OutReceiptChannels))
	}
	p.OutReceiptChannels[c.OutReceipts-1].End++
	p.OutReceipts = append(p.OutReceipts, receipts.Out{Slot: c.OutReceipts - 1, User: r.User, Seq: seq, Kind: kind, At: at})
}

// note adds an entry for the store, if the user can be a recipient of anything up to its message:
// their first membership must have begun before it.
func (p *Fold) note(c *state.Channel, r *state.Row, a receipts.Entry) {
	pair := p.PairOf(r)
	from, ever := p.FirstMember(pair)
	if !ever || from >= a.Seq || pair.Ord() == state.NoOrdinal {
		return
	}
	last := p.NewestReceiptEntry(r.Channel, c)
	if last == 0 {
		p.ReceiptChannels = append(p.ReceiptChannels, receipts.Group{Channel: r.Channel})
		c.ReceiptSlot = uint32(len(p.ReceiptChannels) - 1)
	}
	p.ReceiptChannels[c.ReceiptSlot].End++
	c.NewestReceipt = p.ReceiptEntries.Alloc()
	// A copy of a struct that was just written would wait until all earlier writes are in the CPU's cache.
	e := p.ReceiptEntries.At(c.NewestReceipt)
	e.Next, e.Ord, e.Seq, e.Thread, e.At, e.Slot, e.Kind = last, pair.Ord(), a.Seq, 0, a.At, c.ReceiptSlot, a.Kind
	if r.Flags&state.RowThread != 0 {
		e.Thread = p.FollowOf(r).Thread
	}
	p.MarkedBytes += 24
}

// dropOutReceipts drops a user's unpublished receipts in a channel.
func (p *Fold) dropOutReceipts(c *state.Channel, user uint32) {
	if c.OutReceipts != 0 {
		p.OutErased.Add(c.OutReceipts-1, user, len(p.OutReceipts))
	}
}

// forgetReceipts removes the receipts of an erased user, including unpublished ones; the row does
// not change.
func (p *Fold) forgetReceipts(c *state.Channel, r *state.Row) {
	p.dropOutReceipts(c, r.User)
	if r.Ord() == state.NoOrdinal {
		return
	}
	p.dropAdvances(r.Channel, c, func(a *receipts.Entry) bool { return a.Ord == r.Ord() })
	p.ErasedPairs = append(p.ErasedPairs, state.ErasedPair{Channel: r.Channel, Ord: r.Ord()})
}

// dropAdvances drops the advances of a channel for which those returns true.
func (p *Fold) dropAdvances(ci uint32, c *state.Channel, those func(*receipts.Entry) bool) {
	p.EachReceiptEntry(ci, c, func(a *receipts.Entry) {
		if those(a) {
			a.Kind = receipts.Dropped
			p.ReceiptChannels[a.Slot].End--
		}
	})
}
