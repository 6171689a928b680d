package projections

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The log keeps a channel's messages: the newest tailLen as blobs in memory, all in blocks of tailLen by seq. A block
// is written once, when it is full; the open block is part of the channel record. An edit or a deletion writes a block
// again.

// blockOf is the number of the block that seq is in; block b holds seqs b*tailLen+1 to (b+1)*tailLen.
func blockOf(seq uint32) uint32 { return (seq - 1) / tailLen }

func tagOf(hash uint64) uint32 { return uint32(hash >> 32) }

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
	buf := p.scratch[:0]
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
	var out []byte
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

// indexed is what the message index says of an id.
type indexed struct {
	seq     uint32
	flags   uint8
	time    int64
	logTime int64
}

// appendIndexed encodes one index entry; the record of an id is one or more of them, by seq.
func appendIndexed(dst []byte, x indexed) []byte {
	dst = binary.AppendUvarint(dst, uint64(x.seq))
	dst = append(dst, x.flags)
	dst = binary.AppendVarint(dst, x.time)
	return binary.AppendUvarint(dst, uint64(x.logTime-x.time))
}

// lookup finds the message that an event names by id, when the log time of the event's own topic is now. Of several
// messages with one id it is the oldest that has not left the index then (DESIGN §4.6).
func (p *Partition) lookup(c *channel, id []byte, hash uint64, now int64) (indexed, bool) {
	if c.headSeq == 0 {
		return indexed{}, false
	}
	if c.headSeq <= tailLen || c.flags&chReposted == 0 {
		if x, ok := p.lookupTail(c, id, hash, now); ok || c.headSeq <= tailLen {
			return x, ok
		}
	}
	var kb [keyBuf + maxID]byte
	v, ok, err := p.get(appendIndexKey(kb[:0], p.blobs.get(c.id), id))
	if err != nil {
		p.corrupt(fmt.Errorf("message index of channel %q: %w", p.blobs.get(c.id), err))
	}
	if !ok {
		return indexed{}, false
	}
	for r := (reader{b: v}); len(r.b) > 0 && r.err == nil; {
		x := indexed{seq: r.u32(), flags: r.byte()}
		x.time = r.varint()
		x.logTime = x.time + int64(r.uvarint())
		if r.err == nil && now-x.time <= p.settings.IndexRetention {
			return x, true
		}
	}
	return indexed{}, false
}

// lookupTail looks among the newest messages only, oldest first where an id was posted again.
func (p *Partition) lookupTail(c *channel, id []byte, hash uint64, now int64) (indexed, bool) {
	tag := tagOf(hash)
	n := min(c.headSeq, tailLen)
	var best indexed
	for s := c.headSeq; s > c.headSeq-n; s-- {
		if c.tailTag[s%tailLen] != tag {
			continue
		}
		var e entry
		if err := e.decode(s, p.blobs.get(c.tail[s%tailLen])); err != nil || !bytes.Equal(e.id, id) {
			continue
		}
		if now-e.time <= p.settings.IndexRetention {
			best = indexed{seq: s, flags: e.flags, time: e.time, logTime: e.logTime}
			if c.flags&chReposted == 0 {
				break
			}
		}
	}
	return best, best.seq != 0
}

// indexMessage adds a message to the index. Where its id was used before, by a message that has left the index, the
// record keeps both: an event whose own topic lags still means the older one.
//
// fresh says that the id was never used before.
func (p *Partition) indexMessage(c *channel, e *entry, fresh bool) {
	var kb [keyBuf + maxID]byte
	key := appendIndexKey(kb[:0], p.blobs.get(c.id), e.id)
	x := indexed{seq: e.seq, flags: e.flags & (entSilent | entReply | entBroadcast), time: e.time, logTime: e.logTime}
	if !fresh && c.headSeq > 1 && p.mayRepost(c, e) {
		old, ok, err := p.get(key)
		if err != nil {
			p.corrupt(fmt.Errorf("message index of channel %q: %w", p.blobs.get(c.id), err))
		}
		if ok {
			c.flags |= chReposted
			p.putOver(key, old, appendIndexed(append([]byte(nil), old...), x))
			return
		}
	}
	var vb [32]byte
	p.putNew(key, appendIndexed(vb[:0], x))
}

// mayRepost reports whether any message of the channel can have left the index: only then can a post that was no
// duplicate carry a known id.
func (p *Partition) mayRepost(c *channel, e *entry) bool {
	return e.logTime-c.firstTime > p.settings.IndexRetention
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
