package state

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// The log keeps a channel's messages, except for seeded ones (seeded.go), which precede it. The
// newest BlockLen messages are in memory as blobs. All messages are in blocks of BlockLen by their
// number in the log, which equals the seq if nothing was seeded. A block is written once, when it
// is full; the open block is part of the channel record. An edit or a deletion rewrites a block. A
// block begins with the distance from its first message back to its anchor, the message with the
// largest id up to there (index.go).

// InTail reports whether seq is among the newest messages.
func (c *Channel) InTail(seq uint32) bool {
	return seq != 0 && seq <= c.HeadSeq && c.HeadSeq-seq < history.BlockLen
}

// EntryAt decodes the message with this seq, which must exist.
func (p *State) EntryAt(c *Channel, seq uint32) history.Entry {
	seed := p.SeedOf(c)
	if seq <= seed {
		return p.seededEntry(c, seq)
	}
	var e history.Entry
	var err error
	if c.InTail(seq) {
		err = e.Decode(seq, p.Blobs.Get(c.Tail[seq%history.BlockLen]))
	} else {
		var b []byte
		if b, err = p.Block(c, history.BlockOf(seq-seed)); err == nil {
			err = history.BlockEntry(b, seq-seed, seq, &e)
		}
	}
	if err != nil {
		p.Fail(fmt.Errorf("log of channel %q, message %d: %w", p.Blobs.Get(c.ID), seq, err))
		return history.Entry{Seq: seq}
	}
	return e
}

// Block returns the bytes of a full block.
func (p *State) Block(c *Channel, b uint32) ([]byte, error) { return p.BlockOf(p.Blobs.Get(c.ID), b) }

// BlockOf is Block for the channel with an id.
func (p *State) BlockOf(id []byte, b uint32) ([]byte, error) {
	var kb [keys.Buf]byte
	v, ok, err := p.Get(keys.AppendLog(kb[:0], id, b))
	if err == nil && !ok {
		err = fmt.Errorf("block %d is missing from the store", b)
	}
	return v, err
}

// AppendMessage makes e the head of the channel's log and writes the block that it fills.
func (p *State) AppendMessage(c *Channel, e *history.Entry, hash uint64) {
	p.Scratch = e.Append(p.Scratch[:0])
	k := e.Seq % history.BlockLen
	p.Blobs.Release(c.Tail[k])
	c.Tail[k] = p.Blobs.Put(p.Scratch)
	c.TailTag[k] = TagOf(hash)
	if (e.Seq-p.SeedOf(c))%history.BlockLen == 0 {
		p.writeBlock(c, e.Seq)
	}
}

// writeBlock stores the block that ends with seq, from the tail.
func (p *State) writeBlock(c *Channel, seq uint32) {
	buf := binary.AppendUvarint(p.Scratch[:0], uint64(seq-history.BlockLen+1-c.Anchor))
	for s := seq - history.BlockLen + 1; s <= seq; s++ {
		buf = wire.AppendBytes(buf, p.Blobs.Get(c.Tail[s%history.BlockLen]))
	}
	p.Scratch = buf
	p.Written.PutNew(keys.AppendLog(p.KeyScratch[:0], p.Blobs.Get(c.ID), history.BlockOf(seq-p.SeedOf(c))), buf)
}

// ReplaceEntry stores a changed message in the tail and in its block.
func (p *State) ReplaceEntry(c *Channel, e *history.Entry) {
	enc := e.Append(nil)
	if c.InTail(e.Seq) {
		k := e.Seq % history.BlockLen
		old := c.Tail[k]
		c.Tail[k] = p.Blobs.Put(enc)
		p.Blobs.Release(old)
	}
	seed := p.SeedOf(c)
	n := e.Seq - seed
	if n > (c.HeadSeq-seed)/history.BlockLen*history.BlockLen {
		return // the open block is in the channel record
	}
	b, err := p.Block(c, history.BlockOf(n))
	if err != nil {
		p.Fail(fmt.Errorf("log of channel %q: %w", p.Blobs.Get(c.ID), err))
		return
	}
	var kb [keys.Buf]byte
	key := keys.AppendLog(kb[:0], p.Blobs.Get(c.ID), history.BlockOf(n))
	if history.IsTrimmed(b) {
		var list [history.BlockLen]history.Entry
		i := (n - 1) % history.BlockLen
		if err := history.DecodeTrimmed(b, e.Seq-i, history.BlockLen, &list); err != nil {
			p.Fail(fmt.Errorf("log of channel %q: %w", p.Blobs.Get(c.ID), err))
			return
		}
		list[i] = *e
		p.Written.PutOver(key, b, history.AppendTrimmed(nil, &list))
		return
	}
	r := wire.Reader{B: b}
	out := binary.AppendUvarint(nil, r.Uvarint())
	for i := range uint32(history.BlockLen) {
		v := r.Bytes()
		if i == (n-1)%history.BlockLen {
			v = enc
		}
		out = wire.AppendBytes(out, v)
	}
	p.Written.PutOver(key, b, out)
}

// SeqAt returns the largest seq whose time is at or before t and whose log time is at or before
// horizon, or 0. Neither runs backwards along seqs, so SeqAt bisects; nearly always the result is
// the head.
func (p *State) SeqAt(c *Channel, t, horizon int64) uint32 {
	if c.HeadSeq == 0 || (c.Time <= t && c.LogTime <= horizon) {
		return c.HeadSeq
	}
	lo, hi := uint32(0), c.HeadSeq-1 // the head is beyond t or horizon
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		if e := p.EntryAt(c, mid); e.Time <= t && e.LogTime <= horizon {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// Visible reports whether message seq was posted before an event with this horizon lapsed (DESIGN
// §4.3).
func (p *State) Visible(c *Channel, seq uint32, horizon int64) bool {
	if c.LogTime <= horizon {
		return true
	}
	e := p.EntryAt(c, seq)
	return e.LogTime <= horizon
}

// InDeltas reports whether deltas include a message's id, sender and preview. Unlike a query it
// uses the log time at the channel's head, so that a delta is a function of its stamp.
func (c *Channel) InDeltas(e *history.Entry, retention int64) bool {
	return c.InTail(e.Seq) || c.LogTime-e.Time <= retention
}

// PastRetention reports whether any message of the channel can have left the index, by the rule of
// InDeltas.
func (c *Channel) PastRetention(retention int64) bool { return c.LogTime-c.FirstTime > retention }

// InIndex reports whether queries still include a message's id, sender and preview.
func (p *State) InIndex(c *Channel, e *history.Entry) bool {
	return c.InTail(e.Seq) || p.MessageTime-e.Time <= p.Settings.IndexRetention
}

// InMemory reports whether an answer about a message needs no read from the store.
func (p *State) InMemory(c *Channel, seq uint32) bool { return c.InTail(seq) || seq <= p.SeedOf(c) }

// TagOf returns the part of a message id's hash that a channel keeps.
func TagOf(hash uint64) uint16 { return uint16(hash >> 48) }

// OpenBlock returns the seq with which the open block of a channel's log begins.
func (p *State) OpenBlock(c *Channel) uint32 {
	return wholeBlocks(p.SeedOf(c), c.HeadSeq) + 1
}

// wholeBlocks returns the last seq at or before seq that ends a block of a channel's log. seed is
// how many seeded messages the channel begins with, and at most seq.
func wholeBlocks(seed, seq uint32) uint32 {
	return seed + (seq-seed)/history.BlockLen*history.BlockLen
}
