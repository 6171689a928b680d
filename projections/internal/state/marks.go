package state

import "github.com/tidemark/tidemark/projections/internal/receipts"

// OutReceipt is a receipt to publish on tidemark.receipts (DESIGN §7).
type OutReceipt struct {
	Next      uint32 // the channel's receipt before it, 0 = none
	User, Seq uint32
	Kind      uint8
	At        int64
}

// Kinds of receipts to publish.
const (
	ReceiptRead = iota
	ReceiptDelivered
	ReceiptViewed
	ReceiptWithThreads // as ReceiptRead, of the threads too
)

// Retraction is a user, and the thread if the read was in one, of whom Drain says that there is
// nothing. They have no row.
type Retraction struct {
	Channel      uint32
	User         uint32 // their id is from here in State.Origins
	Thread, End  uint32 // from there to here is the thread's
	LastR, LastD int64
}

// IDs are the ids of the user and of the thread.
func (f *Retraction) IDs(origins []byte) (user, thread []byte) {
	return origins[f.User:f.Thread:f.Thread], origins[f.Thread:f.End:f.End]
}

// ReceiptChannel is a channel that has advances.
type ReceiptChannel struct {
	Channel uint32
	End     uint32 // number of its advances; while they are written, the end of its part of Partition.merging
}

// NewestReceiptEntry is the newest advance of a channel, 0 if it has none: what the channel says of
// them is from before the last cut where its place in Partition.advanced is not its own.
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

// ErasedPair is a member whose receipts are to be removed.
type ErasedPair struct{ Channel, Ord uint32 }

// OutRow is a pair to drain, with the origin of the read that changed it last, if one did.
type OutRow struct {
	Ref      uint32
	From, To uint32 // in Partition.origins
}

// Vacant counts the rows of a list that are gone and still linked. Lists are linked in one
// direction, so rows are taken out by going through all of the list: as soon as that costs no more
// than walkPer steps for each of them.
type Vacant struct {
	Rows uint32
	next uint32 // number of rows at which the list is tried
}

const walkPer = 16

// Due reports whether to go through a list of this length, and else when to look again.
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
