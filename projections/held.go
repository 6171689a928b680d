package projections

import (
	"encoding/binary"
	"slices"
)

// held is one event, or one message of a messages_read, that is kept.
type held struct {
	kind    uint8 // heldRead, heldSingle, heldMark; deliveries: heldDelivered, heldDeliveredTo, heldQueued
	by      uint8 // how the target is named
	headBy  uint8 // marks: how the head is named; byTime if it is not
	closed  bool  // reads, singles: seq is final. Marks: seq is the message's
	head    bool  // marks: headSeq is final
	use     uint8 // of exc.open: forOthers, forFar
	off     int64 // of the event's record
	at      int64 // occurred_at
	horizon int64 // log time after which it does not apply to new messages (7 days past the event)
	now     int64 // log time of chat.reads at the event, for the index
	time    int64 // byTime: the target
	seq     uint32
	headSeq uint32
	id      []byte // byID
	headID  []byte

	sought, soughtHead uint32 // see awaited; not stored
}

const (
	heldRead = iota + 1
	heldSingle
	heldMark
	heldDelivered
	heldDeliveredTo
	heldQueued
)

const (
	byID = iota + 1
	bySeq
	byTime
)

// lapseAfter is how far log time may move past an event that waits: 7 days (DESIGN §4.3).
const lapseAfter = 7 * 24 * 3600 * 1000

// maxHeld is the number of events of a user that may be held in a scope (DESIGN §4.3).
const maxHeld = 1000

// headVal is the time or seq that names a mark's head.
func (h *held) headVal() int64 {
	if h.headBy == bySeq {
		return h.time
	}
	return h.at
}

// resolve closes what the timeline has decided. It reports whether the event is still alive: a waiting read that
// lapsed, or a mark whose message or head lapsed, is void.
func (p *Partition) resolve(c *channel, r *row, h *held) bool {
	lapsed := p.logTime > h.horizon
	if !h.closed {
		switch h.by {
		case byID:
			if x, ok := p.awaited(c, h.id, h.now, &h.sought); ok && x.logTime <= h.horizon {
				if h.kind == heldSingle && !p.inScope(c, r, x) {
					return false // another scope's
				}
				h.closed, h.seq = true, x.seq
			} else if lapsed {
				return false
			}
		case bySeq:
			if c.headSeq >= h.seq {
				if !p.visible(c, h.seq, h.horizon) {
					return false
				}
				h.closed = true
			} else if lapsed {
				return false
			}
		case byTime:
			if (c.headSeq > 0 && c.time > h.time) || lapsed {
				h.closed, h.seq = true, p.seqAt(c, h.time, h.horizon)
			}
		}
	}
	if h.kind == heldMark && !h.head {
		switch h.headBy {
		case byID:
			if x, ok := p.awaited(c, h.headID, h.now, &h.soughtHead); ok && x.logTime <= h.horizon {
				h.head, h.headSeq = true, x.seq
			} else if lapsed {
				return false
			}
		default:
			if seq, final := p.headAt(c, floorSpec{h.headBy, h.headVal(), h.horizon}); final {
				h.headSeq, h.head = seq, true
			}
		}
	}
	return true
}

// awaited is lookup for what is held: sought is the head up to which there was no such message, so that only what was
// posted since can be it. All that a pair holds is resolved with each of its events; a thousand searches in the log
// for one event would let one user stop a partition.
func (p *Partition) awaited(c *channel, id []byte, now int64, sought *uint32) (x indexed, ok bool) {
	switch {
	case *sought == 0 || c.headSeq-*sought > tailLen:
		x, ok = p.lookup(c, id, idHash(id), now)
	case c.headSeq > *sought:
		x, ok = p.lookupTail(c, id, idHash(id), now)
	}
	if !ok {
		*sought = c.headSeq
	}
	return x, ok
}

// openInTime reports whether a time target is held that may still reach messages. What it reaches is told when it
// closes, whatever was told before.
func (x *exc) openInTime() bool {
	return slices.ContainsFunc(x.held, func(h held) bool { return h.kind == heldRead && h.by == byTime && !h.closed })
}

// appendHeld encodes what waits: the open floors, then the held events in order; nothing if there is none.
func (x *exc) appendHeld(b []byte) []byte {
	if len(x.held)+len(x.floors) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(x.floors)))
	for _, f := range x.floors {
		b = append(b, f.by)
		b = binary.AppendVarint(b, f.val)
		b = binary.AppendVarint(b, f.horizon)
	}
	return appendEvents(b, x.held)
}

func appendEvents(b []byte, list []held) []byte {
	for i := range list {
		h := &list[i]
		b = append(b, h.kind, h.by, h.headBy, h.use)
		b = appendBool(b, h.closed)
		b = appendBool(b, h.head)
		for _, v := range [...]int64{h.off, h.at, h.horizon, h.now, h.time, int64(h.seq), int64(h.headSeq)} {
			b = binary.AppendVarint(b, v)
		}
		b = appendBytes(b, h.id)
		b = appendBytes(b, h.headID)
	}
	return b
}

func (x *exc) decodeHeld(b []byte) error {
	r := reader{b: b}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		x.floors = append(x.floors, floorSpec{by: r.byte(), val: r.varint(), horizon: r.varint()})
	}
	x.held = r.events()
	return r.done()
}

func (r *reader) events() (list []held) {
	for len(r.b) > 0 && r.err == nil {
		h := held{kind: r.byte(), by: r.byte(), headBy: r.byte(), use: r.byte(), closed: r.byte() != 0, head: r.byte() != 0}
		h.off, h.at, h.horizon, h.now, h.time = r.varint(), r.varint(), r.varint(), r.varint(), r.varint()
		h.seq, h.headSeq = uint32(r.varint()), uint32(r.varint())
		h.id = append([]byte(nil), r.bytes()...)
		h.headID = append([]byte(nil), r.bytes()...)
		list = append(list, h)
	}
	return list
}
