package projections

import (
	"encoding/binary"
	"fmt"
)

// The log keeps a channel's messages: the newest tailLen as blobs in memory, all in blocks of tailLen by seq. A block
// is written once, when it is full; the open block is part of the channel record. An edit or a deletion writes a block
// again. A block begins with how far before its first message that with the largest id until then is (see index.go).

// blockOf is the number of the block that seq is in; block b holds seqs b*tailLen+1 to (b+1)*tailLen.
func blockOf(seq uint32) uint32 { return (seq - 1) / tailLen }

func tagOf(hash uint64) uint16 { return uint16(hash >> 48) }

// inTail reports whether seq is among the newest messages.
func (c *channel) inTail(seq uint32) bool {
	return seq != 0 && seq <= c.headSeq && c.headSeq-seq < tailLen
}

// entryAt decodes the message with this seq, which must exist.
func (p *Partition) entryAt(c *channel, seq uint32) entry {
	var e entry
	var err error
	if c.inTail(seq) {
		err = e.decode(seq, p.blobs.get(c.tail[seq%tailLen]))
	} else {
		var b []byte
		if b, err = p.block(c, blockOf(seq)); err == nil {
			err = blockEntry(b, seq, &e)
		}
	}
	if err != nil {
		p.corrupt(fmt.Errorf("log of channel %q, message %d: %w", p.blobs.get(c.id), seq, err))
		return entry{seq: seq}
	}
	return e
}

// block returns the bytes of a full block.
func (p *Partition) block(c *channel, b uint32) ([]byte, error) {
	var kb [keyBuf]byte
	v, ok, err := p.get(appendLogKey(kb[:0], p.blobs.get(c.id), b))
	if err == nil && !ok {
		err = fmt.Errorf("block %d is missing from the store", b)
	}
	return v, err
}

// blockEntry finds one message in a block.
func blockEntry(b []byte, seq uint32, e *entry) error {
	r := reader{b: b}
	r.uvarint()
	for range (seq - 1) % tailLen {
		r.bytes()
	}
	v := r.bytes()
	if r.err != nil {
		return r.err
	}
	return e.decode(seq, v)
}

// appendMessage makes e the head of the channel's log and writes the block that it fills.
func (p *Partition) appendMessage(c *channel, e *entry, hash uint64) {
	p.scratch = e.append(p.scratch[:0])
	k := e.seq % tailLen
	p.blobs.release(c.tail[k])
	c.tail[k] = p.blobs.put(p.scratch)
	c.tailTag[k] = tagOf(hash)
	if e.seq%tailLen == 0 {
		p.writeBlock(c, e.seq)
	}
}

// writeBlock stores the block that ends with seq, from the tail.
func (p *Partition) writeBlock(c *channel, seq uint32) {
	buf := binary.AppendUvarint(p.scratch[:0], uint64(seq-tailLen+1-c.anchor))
	for s := seq - tailLen + 1; s <= seq; s++ {
		buf = appendBytes(buf, p.blobs.get(c.tail[s%tailLen]))
	}
	p.scratch = buf
	var kb [keyBuf]byte
	p.putNew(appendLogKey(kb[:0], p.blobs.get(c.id), blockOf(seq)), buf)
}

// replaceEntry stores a changed message wherever it is kept.
func (p *Partition) replaceEntry(c *channel, e *entry) {
	enc := e.append(nil)
	if c.inTail(e.seq) {
		k := e.seq % tailLen
		old := c.tail[k]
		c.tail[k] = p.blobs.put(enc)
		p.blobs.release(old)
	}
	full := c.headSeq / tailLen * tailLen
	if e.seq > full {
		return // in the channel record
	}
	b, err := p.block(c, blockOf(e.seq))
	if err != nil {
		p.corrupt(fmt.Errorf("log of channel %q: %w", p.blobs.get(c.id), err))
		return
	}
	r := reader{b: b}
	out := binary.AppendUvarint(nil, r.uvarint())
	for i := range uint32(tailLen) {
		v := r.bytes()
		if i == (e.seq-1)%tailLen {
			v = enc
		}
		out = appendBytes(out, v)
	}
	var kb [keyBuf]byte
	p.putOver(appendLogKey(kb[:0], p.blobs.get(c.id), blockOf(e.seq)), b, out)
}

// seqAt is the largest seq whose time is at or before t and whose log time is at or before horizon, 0 if none. Both
// never run backwards along seqs, so it is found by bisection; nearly always it is the head.
func (p *Partition) seqAt(c *channel, t, horizon int64) uint32 {
	if c.headSeq == 0 || (c.time <= t && c.logTime <= horizon) {
		return c.headSeq
	}
	lo, hi := uint32(0), c.headSeq-1 // the head is beyond
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		if e := p.entryAt(c, mid); e.time <= t && e.logTime <= horizon {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// visible reports whether message seq was posted before an event with this horizon lapsed (DESIGN §4.3).
func (p *Partition) visible(c *channel, seq uint32, horizon int64) bool {
	if c.logTime <= horizon {
		return true
	}
	e := p.entryAt(c, seq)
	return e.logTime <= horizon
}
