package receipts

import "unsafe"

// Recent keeps blocks as they are stored, so that the cut that adds to them need not read them: of
// each channel the newest one, if it is small, of its own scope and its first page of members. In a
// direct chat that is the block to which nearly every receipt goes. It also tells which blocks
// cannot be stored, because their messages are newer than the last cut that wrote any.
//
// A channel has one slot, which it shares with others if there are more channels than slots. What
// is not in its slot is read from the store. The zero value is empty.
type Recent struct {
	slots []recentBlock // a power of two
}

// recentBlock is the newest block of a channel that a cut wrote.
type recentBlock struct {
	channel uint32 // 0: none
	block   uint32
	head    uint32 // the channel's newest message when a cut had stored its receipts last; 0: it is not known
	n       uint8  // bytes of the block; 0: it is too large
	bytes   [recentBytes]byte
}

const (
	// recentBytes is the size up to which a block is kept: that of two members who read eight
	// messages one by one, with times that are hours apart.
	recentBytes = 67
	// maxRecent is the number of slots at most: 5 MiB.
	maxRecent = 1 << 16
)

// Grow makes room for as many channels as one cut wrote receipts of, and as many again.
func (r *Recent) Grow(channels int) {
	size := max(len(r.slots), 64)
	for size < min(2*channels, maxRecent) {
		size *= 2
	}
	if size == len(r.slots) {
		return
	}
	old := r.slots
	r.slots = make([]recentBlock, size)
	for i := range old {
		if old[i].channel != 0 {
			*r.slot(old[i].channel) = old[i]
		}
	}
}

// slot returns the slot of a channel. Numbers of channels are dense.
func (r *Recent) slot(channel uint32) *recentBlock { return &r.slots[int(channel)&(len(r.slots)-1)] }

// keeps reports whether Recent may know of the block of an entry.
func (r *Recent) keeps(a *Entry) bool {
	return len(r.slots) > 0 && a.Thread == 0 && a.place()&(1<<32-1) == 0
}

// Get returns the block of an entry of a channel as the last cut stored it, nil if it stored none.
// known is false if only the store can tell.
func (r *Recent) Get(channel uint32, a *Entry) (val []byte, known bool) {
	if !r.keeps(a) {
		return nil, false
	}
	switch s := r.slot(channel); {
	case s.channel != channel:
		return nil, false
	case s.head > 0 && a.Block() > (s.head-1)/BlockLen:
		return nil, true
	case a.Block() == s.block && s.n > 0:
		return s.bytes[:s.n], true
	}
	return nil, false
}

// Put notes that a cut stores val as the block of an entry of a channel.
func (r *Recent) Put(channel uint32, a *Entry, val []byte) {
	if !r.keeps(a) {
		return
	}
	s := r.slot(channel)
	if s.channel != channel {
		*s = recentBlock{channel: channel}
	}
	if s.block > a.Block() {
		return
	}
	s.block, s.n = a.Block(), 0
	if len(val) <= len(s.bytes) {
		s.n = uint8(copy(s.bytes[:], val)) //nolint:gosec // it fits
	}
}

// Saw notes that a cut has stored all receipts of a channel, whose newest message is head.
func (r *Recent) Saw(channel, head uint32) {
	if s := r.slot(channel); s.channel == channel {
		s.head = head
	}
}

// Drop forgets a channel, whose blocks change by something else than an entry that is added.
func (r *Recent) Drop(channel uint32) {
	if len(r.slots) > 0 && r.slot(channel).channel == channel {
		*r.slot(channel) = recentBlock{}
	}
}

// HeapBytes is the memory of the slots.
func (r *Recent) HeapBytes() int64 { return int64(len(r.slots)) * int64(unsafe.Sizeof(recentBlock{})) }
