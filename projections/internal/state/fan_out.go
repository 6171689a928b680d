package state

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/history"
)

// FanOut holds what the deltas of a channel's members have in common while a drain goes over them.
// Nothing changes the channel meanwhile. The zero FanOut remembers nothing.
type FanOut struct {
	channel *Channel // nil outside of a fan-out
	known   bool     // latest is set
	latest  events.Head
	buf     []byte // bytes of latest

	// The log blocks that were read last. The messages that leave the newest ones between two
	// fan-outs are in one or two blocks, and many members read up to them.
	blocks [2]fanOutBlock
	next   int // the block that is replaced next
}

// fanOutBlock is a copy of a block of the log.
type fanOutBlock struct {
	number uint32 // plus 1; 0 means none
	bytes  []byte
}

// Begin starts the fan-out of a channel.
func (f *FanOut) Begin(c *Channel) {
	f.channel, f.known = c, false
	f.blocks[0].number, f.blocks[1].number = 0, 0
}

// End forgets the channel.
func (f *FanOut) End() { f.channel = nil }

// Latest returns what Keep has kept of the channel. It returns false if that is nothing.
func (f *FanOut) Latest(c *Channel) (events.Head, bool) { return f.latest, f.channel == c && f.known }

// Keep copies the latest message of a channel if this is its fan-out.
func (f *FanOut) Keep(c *Channel, h events.Head) {
	if f.channel != c {
		return
	}
	f.buf = append(append(append(f.buf[:0], h.MessageID...), h.SenderID...), h.Preview...)
	sender := len(h.MessageID)
	preview := sender + len(h.SenderID)
	h.MessageID, h.SenderID, h.Preview = f.buf[:sender:sender], f.buf[sender:preview:preview], f.buf[preview:]
	f.latest, f.known = h, true
}

// IDInDeltas returns the id of message seq, or nil if deltas no longer name it. The result borrows
// its bytes until the next call.
func (p *State) IDInDeltas(c *Channel, seq uint32, f *FanOut) []byte {
	if id, ok := p.tailID(c, seq); ok {
		return id
	}
	var e history.Entry
	if f.channel != c || c.InTail(seq) || !f.entry(p, seq, &e) {
		e = p.EntryAt(c, seq)
	}
	if !c.InDeltas(&e, p.Settings.IndexRetention) {
		return nil
	}
	return e.ID
}

// tailID returns the id of one of the newest messages without decoding the rest of it. It returns
// false if seq is not among them, or seeded.
func (p *State) tailID(c *Channel, seq uint32) ([]byte, bool) {
	if !c.InTail(seq) || seq <= p.SeedOf(c) {
		return nil, false
	}
	return history.IDFrom(p.Blobs.Get(c.Tail[seq%history.BlockLen]))
}

// entry decodes a message that is in a full block of the log. It returns false if that fails.
func (f *FanOut) entry(p *State, seq uint32, e *history.Entry) bool {
	seed := p.SeedOf(f.channel)
	if seq <= seed {
		return false
	}
	n := history.BlockOf(seq - seed)
	for i := range f.blocks {
		if b := &f.blocks[i]; b.number == n+1 {
			return history.BlockEntry(b.bytes, seq-seed, seq, e) == nil
		}
	}
	read, err := p.Block(f.channel, n)
	if err != nil {
		return false
	}
	b := &f.blocks[f.next]
	f.next = (f.next + 1) % len(f.blocks)
	b.number, b.bytes = n+1, append(b.bytes[:0], read...)
	return history.BlockEntry(b.bytes, seq-seed, seq, e) == nil
}
