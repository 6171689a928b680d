package projections

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// fanOut holds what the deltas of a channel's members have in common while Drain goes over them.
// Nothing changes the channel meanwhile.
type fanOut struct {
	channel *state.Channel // nil outside of a fan-out
	known   bool           // latest is set
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

// begin starts the fan-out of a channel.
func (f *fanOut) begin(c *state.Channel) {
	f.channel, f.known = c, false
	f.blocks[0].number, f.blocks[1].number = 0, 0
}

// end forgets the channel.
func (f *fanOut) end() { f.channel = nil }

// keep copies the latest message.
func (f *fanOut) keep(h events.Head) {
	f.buf = append(append(append(f.buf[:0], h.MessageID...), h.SenderID...), h.Preview...)
	sender := len(h.MessageID)
	preview := sender + len(h.SenderID)
	h.MessageID, h.SenderID, h.Preview = f.buf[:sender:sender], f.buf[sender:preview:preview], f.buf[preview:]
	f.latest, f.known = h, true
}

// entry decodes a message that is in a full block of the log. It returns false if that fails.
func (f *fanOut) entry(p *Partition, seq uint32, e *history.Entry) bool {
	seed := p.rules.SeedOf(f.channel)
	if seq <= seed {
		return false
	}
	n := history.BlockOf(seq - seed)
	for i := range f.blocks {
		if b := &f.blocks[i]; b.number == n+1 {
			return history.BlockEntry(b.bytes, seq-seed, seq, e) == nil
		}
	}
	read, err := p.rules.Block(f.channel, n)
	if err != nil {
		return false
	}
	b := &f.blocks[f.next]
	f.next = (f.next + 1) % len(f.blocks)
	b.number, b.bytes = n+1, append(b.bytes[:0], read...)
	return history.BlockEntry(b.bytes, seq-seed, seq, e) == nil
}

// latestBytes returns the latest message for a delta. The result borrows its bytes.
func (p *Partition) latestBytes(c *state.Channel) events.Head {
	f := &p.outFanOut
	if f.channel == c && f.known {
		return f.latest
	}
	h := p.headBytes(c, c.Latest)
	if c.Latest != 0 {
		h.Pos = p.rules.PosAt(c, c.Latest)
	}
	if f.channel == c {
		f.keep(h)
	}
	return h
}

// idInDeltas returns the id of message seq, or nil if deltas no longer name it. The result borrows
// its bytes.
func (p *Partition) idInDeltas(c *state.Channel, seq uint32) []byte {
	if id, ok := p.rules.TailID(c, seq); ok {
		return id
	}
	var e history.Entry
	if f := &p.outFanOut; f.channel != c || c.InTail(seq) || !f.entry(p, seq, &e) {
		e = p.rules.EntryAt(c, seq)
	}
	if !c.InDeltas(&e, p.rules.Settings.IndexRetention) {
		return nil
	}
	return e.ID
}
