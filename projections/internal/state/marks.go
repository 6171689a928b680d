package state

import "github.com/tidemark/tidemark/projections/internal/receipts"

// Retraction names a user, and the thread if the read was in one, for whom Drain publishes an empty
// delta. The user has no row.
type Retraction struct {
	Channel      uint32
	User         uint32 // start of the user's id in State.Origins
	Thread, End  uint32 // end of the user's id and start of the thread's; end of the thread's id
	LastR, LastD int64
}

// IDs returns the ids of the user and of the thread.
func (f *Retraction) IDs(origins []byte) (user, thread []byte) {
	return origins[f.User:f.Thread:f.Thread], origins[f.Thread:f.End:f.End]
}

// NewestReceiptEntry returns the newest advance of a channel, or 0. The channel's fields are valid
// only if its slot in State.ReceiptChannels names the channel; otherwise they are from before the
// last cut.
func (p *State) NewestReceiptEntry(ci uint32, c *Channel) uint32 {
	if int(c.ReceiptSlot) < len(p.ReceiptChannels) && p.ReceiptChannels[c.ReceiptSlot].Channel == ci {
		return c.NewestReceipt
	}
	return 0
}

// EachReceiptEntry calls fn for the entries of a channel that are not in a block yet.
func (p *State) EachReceiptEntry(ci uint32, c *Channel, fn func(*receipts.Entry)) {
	for i := p.NewestReceiptEntry(ci, c); i != 0; i = p.ReceiptEntries.At(i).Next {
		if a := p.ReceiptEntries.At(i); a.Kind != receipts.Dropped {
			fn(a)
		}
	}
}

// ErasedPair is a member whose receipts the next cut removes.
type ErasedPair struct{ Channel, Ord uint32 }

// OutRow is a pair to drain. If a read changed it last, it has that read's origin.
type OutRow struct {
	Ref      uint32
	From, To uint32 // the origin, in State.Origins
	shown    uint32 // of the row
}

// List adds a row to OutRows, unless it is there.
func (p *State) List(ref uint32, r *Row) {
	if r.Flags&RowListed == 0 {
		p.OutRows = append(p.OutRows, OutRow{Ref: ref, shown: r.shown})
		r.shown = uint32(len(p.OutRows) - 1)
		r.Flags |= RowListed
	}
}

// Listed returns the row's entry in OutRows, or nil.
func (p *State) Listed(r *Row) *OutRow {
	if r.Flags&RowListed == 0 {
		return nil
	}
	return &p.OutRows[r.shown]
}

// Unlist empties OutRows.
func (p *State) Unlist() {
	for i := range p.OutRows {
		r := p.Rows.At(p.OutRows[i].Ref)
		r.shown = p.OutRows[i].shown
		r.Flags &^= RowListed
	}
	p.OutRows = p.OutRows[:0]
}
