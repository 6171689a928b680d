package state

import "github.com/tidemark/tidemark/projections/internal/receipts"

// OutReceipt is a receipt to publish on tidemark.receipts (DESIGN §7).
type OutReceipt struct {
	Next      uint32 // the channel's previous receipt, 0 = none
	User, Seq uint32
	Kind      uint8
	At        int64
}

// Kinds of receipts to publish.
const (
	ReceiptRead = iota
	ReceiptDelivered
	ReceiptViewed
	ReceiptWithThreads // like ReceiptRead, and of the threads too
)

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

// ReceiptChannel is a channel with advances.
type ReceiptChannel struct {
	Channel uint32
	End     uint32 // number of its advances; during a cut, the end of its part of Partition.merging
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
}

// Vacant counts the rows of a list that are gone but still linked. Lists are linked in one
// direction, so rows are unlinked by walking the whole list, once that costs at most walkPer steps
// for each gone row.
type Vacant struct {
	Rows uint32
	next uint32 // number of gone rows at which to measure the list again
}

const walkPer = 16

// Due reports whether to walk the list now. length reports whether the list has at most limit rows.
// If it is longer, Due does not measure it again before the number of gone rows has doubled.
func (v *Vacant) Due(length func(limit int) bool) bool {
	if v.Rows < v.next {
		return false
	}
	if length(walkPer * int(v.Rows+1)) {
		return true
	}
	v.next = 2 * v.Rows
	return false
}
