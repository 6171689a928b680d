package projections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// The index finds a message by its id. Most producers give ids that grow with time (ULIDs, snowflakes, timestamps): of
// a message whose id is beyond all before it (it *grew*) the log itself says where it is, for such ids ascend along
// seqs and are found by bisection over the log's blocks. It is *plain* and has no entry of its own, which is more than
// half of what a message would cost. Ids that follow no order grow now and then by chance, and bisection for each of them
// would cost more than entries: so a message is plain only if runPlain before it grew as well.

// indexed is what the message index says of an id.
type indexed struct {
	seq     uint32
	flags   uint8
	time    int64
	logTime int64
}

const indexedFlags = entSilent | entReply | entBroadcast

func indexedOf(e *entry) indexed {
	return indexed{seq: e.seq, flags: e.flags & indexedFlags, time: e.time, logTime: e.logTime}
}

// indexedFrom is indexedOf for the encoded entry of message seq, with its id; what comes after the id is not looked at.
func indexedFrom(seq uint32, b []byte) (x indexed, id []byte, ok bool) {
	r := reader{b: b}
	x = indexed{seq: seq, flags: r.byte() & indexedFlags}
	x.time = r.varint()
	x.logTime = x.time + int64(r.uvarint())
	r.uvarint() // offset
	r.uvarint() // the sender's message before
	id = r.bytes()
	return x, id, r.err == nil
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
	best, ok := p.lookupTail(c, id, hash, now)
	if c.headSeq <= tailLen || (ok && c.flags&chReposted == 0) {
		return best, ok
	}
	if x, found := p.lookupPlain(c, id); found && now-x.time <= p.settings.IndexRetention {
		return x, true // it was the first with this id, for the id was beyond all before it
	}
	var kb [keyBuf + maxID]byte
	v, found, err := p.get(appendIndexKey(kb[:0], p.blobs.get(c.id), id))
	if err != nil {
		p.corrupt(fmt.Errorf("message index of channel %q: %w", p.blobs.get(c.id), err))
	}
	if !found {
		return best, ok
	}
	for r := (reader{b: v}); len(r.b) > 0 && r.err == nil; {
		x := indexed{seq: r.u32(), flags: r.byte()}
		x.time = r.varint()
		x.logTime = x.time + int64(r.uvarint())
		if r.err == nil && now-x.time <= p.settings.IndexRetention && (!ok || x.seq < best.seq) {
			return x, true
		}
	}
	return best, ok
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
		x, at, ok := indexedFrom(s, p.blobs.get(c.tail[s%tailLen]))
		if !ok || !bytes.Equal(at, id) {
			continue
		}
		if now-x.time <= p.settings.IndexRetention {
			best = x
			if c.flags&chReposted == 0 {
				break
			}
		}
	}
	return best, best.seq != 0
}

// lookupPlain looks among the messages that have no index entry.
func (p *Partition) lookupPlain(c *channel, id []byte) (indexed, bool) {
	full := c.headSeq / tailLen // blocks that are written
	if c.plain == 0 || full == 0 || bytes.Compare(id, p.blobs.get(c.maxID)) > 0 {
		return indexed{}, false
	}
	x, ok, err := p.searchPlain(c, id, min(blockOf(c.plain), full-1))
	if err != nil {
		p.corrupt(fmt.Errorf("log of channel %q: looking for a message id: %w", p.blobs.get(c.id), err))
	}
	return x, ok
}

// searchPlain finds the newest block up to hi of which the anchor's id is not beyond the one sought. It goes back from
// hi in growing steps first, since most ids that are sought are recent, then by bisection. The message is in that block,
// or it is the block's anchor.
func (p *Partition) searchPlain(c *channel, id []byte, hi uint32) (indexed, bool, error) {
	lo, beyond := uint32(0), hi+1 // the anchor of block beyond, if there is one, is beyond the id
	for step := uint32(1); hi > 0; step *= 2 {
		_, at, err := p.anchorOf(c, hi)
		if err != nil {
			return indexed{}, false, err
		}
		if bytes.Compare(at.id, id) <= 0 {
			lo = hi
			break
		}
		beyond = hi
		hi -= min(step, hi)
	}
	for lo+1 < beyond {
		mid := lo + (beyond-lo)/2
		_, at, err := p.anchorOf(c, mid)
		if err != nil {
			return indexed{}, false, err
		}
		if bytes.Compare(at.id, id) <= 0 {
			lo = mid
		} else {
			beyond = mid
		}
	}
	b, e, err := p.anchorOf(c, lo)
	if err != nil {
		return indexed{}, false, err
	}
	if bytes.Equal(e.id, id) {
		return indexedOf(&e), true, nil
	}
	r := reader{b: b}
	r.uvarint()
	for s := lo*tailLen + 1; s <= (lo+1)*tailLen; s++ {
		if err := e.decode(s, r.bytes()); err != nil {
			return indexed{}, false, err
		}
		if e.flags&entGrew != 0 && bytes.Equal(e.id, id) {
			return indexedOf(&e), true, nil
		}
	}
	return indexed{}, false, nil
}

// anchorOf returns a block and its anchor: the message with the largest id up to the block's first.
func (p *Partition) anchorOf(c *channel, block uint32) (b []byte, e entry, err error) {
	if b, err = p.block(c, block); err != nil {
		return nil, e, err
	}
	first := block*tailLen + 1
	r := reader{b: b}
	back := r.u32()
	if r.err != nil || back >= first {
		return nil, e, fmt.Errorf("block %d: its anchor is %d before message %d: %w", block, back, first, errors.Join(r.err, errAnchor))
	}
	from := b
	if back > 0 {
		if from, err = p.block(c, blockOf(first-back)); err != nil {
			return nil, e, err
		}
	}
	if err := blockEntry(from, first-back, &e); err != nil {
		return nil, e, fmt.Errorf("message %d: %w", first-back, err)
	}
	return b, e, nil
}

var errAnchor = errors.New("corrupt")

// runPlain is how many messages have to have grown before one can be plain.
const runPlain = 3

// noteID keeps what is known of the ids of a channel when e is posted, and reports whether it is plain.
func (p *Partition) noteID(c *channel, e *entry, grows bool) (plain bool) {
	if grows {
		e.flags |= entGrew
		p.blobs.release(c.maxID)
		c.maxID, c.maxSeq = p.blobs.put(e.id), e.seq
		plain = c.run == runPlain
		c.run = min(c.run+1, runPlain)
	} else {
		c.run = 0
	}
	if e.seq%tailLen == 1 {
		c.anchor = c.maxSeq
	}
	if plain {
		c.plain = e.seq
	}
	return plain
}

// indexMessage adds a message to the index. Where its id was used before, by a message that has left the index, the
// record keeps both: an event whose own topic lags still means the older one.
func (p *Partition) indexMessage(c *channel, e *entry) {
	var kb [keyBuf + maxID]byte
	key := appendIndexKey(kb[:0], p.blobs.get(c.id), e.id)
	x := indexedOf(e)
	if e.flags&entGrew == 0 && p.mayRepost(c, e.logTime) {
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

// noteRepost marks the channel if a plain message has the id that is posted again now.
func (p *Partition) noteRepost(c *channel, id []byte, hash uint64) {
	if c.plain == 0 || !p.mayRepost(c, p.logTime) {
		return
	}
	_, again := p.lookupTail(c, id, hash, anyAge)
	if !again {
		_, again = p.lookupPlain(c, id)
	}
	if again {
		c.flags |= chReposted
	}
}

// anyAge is the log time by which no message has left the index.
const anyAge = -1 << 62

// mayRepost reports whether any message of the channel can have left the index: only then can a post that was no
// duplicate carry a known id.
func (p *Partition) mayRepost(c *channel, logTime int64) bool {
	return logTime-c.firstTime > p.settings.IndexRetention
}
