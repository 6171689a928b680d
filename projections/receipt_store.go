package projections

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// What members read and what was delivered to them is kept in blocks: of receiptBlock messages and one page of members,
// of the channel or of one thread. A block is a function of all that was ever said about its messages: of what one says
// where another says more, only the other stays. Folding appends to a list in memory, without reading anything; blocks
// are read and written at the next cut, each once for all that was appended.

// receiptsKept is how long receipts are kept, in milliseconds of log time (DESIGN §4.5).
const receiptsKept = 90 * 24 * 3600 * 1000

// advancedChannel is a channel that has advances.
type advancedChannel struct {
	ci  uint32
	end uint32 // number of its advances; while they are written, the end of its part of Partition.merging
}

func (p *Partition) receiptKey(dst []byte, c *channel, a *advance) []byte {
	var thread []byte
	if a.thread != 0 {
		thread = p.blobs.get(p.threads[a.thread].id)
	}
	return appendReceiptKey(dst, p.blobs.get(c.id), a.block(), a.ord/pageLen, thread)
}

// cutReceipts writes the blocks of everything that was appended since the last cut, and drops those that are too old.
func (p *Partition) cutReceipts() error {
	for _, ci := range p.dirtyChans {
		if _, err := p.expire(p.chans.at(ci)); err != nil {
			return err
		}
	}
	if err := p.cutErased(); err != nil {
		return err
	}
	from := uint32(0)
	for i, list := 0, p.gathered(); i < len(p.advanced); i++ {
		a := p.advanced[i]
		if err := p.mergeChannel(p.chans.at(a.ci), list[from:a.end]); err != nil {
			return err
		}
		from = a.end
	}
	p.advanced, p.erasedPairs = p.advanced[:0], p.erasedPairs[:0]
	p.advances.reset()
	return nil
}

// gathered is the advances, channel by channel in the order of Partition.advanced; the end of each part is in there.
// They are read in the order in which they were folded: following each channel's chain would miss the cache every time.
func (p *Partition) gathered() []advance {
	at := uint32(0)
	for i := range p.advanced {
		a := &p.advanced[i]
		a.end, at = at, at+a.end
	}
	p.merging = slices.Grow(p.merging[:0], int(at))[:at]
	p.advances.each(func(_ uint32, a *advance) {
		if a.kind != entryDropped {
			end := &p.advanced[a.slot].end
			p.merging[*end] = *a
			*end++
		}
	})
	return p.merging
}

// mergeChannel adds the entries of a channel to their blocks.
func (p *Partition) mergeChannel(c *channel, list []advance) error {
	c.advances = 0
	expired, err := p.expire(c)
	if err != nil {
		return err
	}
	list = p.sortAdvances(list)
	for len(list) > 0 && err == nil {
		n := 1
		for n < len(list) && list[n].sameBlock(&list[0]) {
			n++
		}
		if list[0].block() >= expired {
			err = p.mergeBlock(c, list[:n])
		}
		list = list[n:]
	}
	return err
}

// eachAdvance calls fn for the entries of a channel that are not in a block yet.
func (p *Partition) eachAdvance(c *channel, fn func(*advance)) {
	for i := c.advances; i != 0; i = p.advances.at(i).next {
		if a := p.advances.at(i); a.kind != entryDropped {
			fn(a)
		}
	}
}

// mergeBlock adds entries to their block.
func (p *Partition) mergeBlock(c *channel, more []advance) error {
	var kb [keyBuf]byte
	key := p.receiptKey(kb[:0], c, &more[0])
	old, stored, err := p.get(key)
	if err != nil {
		return err
	}
	block, merged := &p.blockBuf[0], &p.blockBuf[1]
	if stored {
		*block, err = appendBlock((*block)[:0], old, more[0].block(), more[0].ord/pageLen, more[0].thread)
		if err != nil {
			return fmt.Errorf("receipts of channel %q, record %q: %w", p.blobs.get(c.id), key, err)
		}
		*merged = mergeBlocks((*merged)[:0], *block, more)
		more = *merged
	}
	*block = joinBlock((*block)[:0], more)
	p.scratch = encodeBlock(p.scratch[:0], *block)
	switch {
	case !stored:
		p.putNew(key, p.scratch)
	case string(old) != string(p.scratch):
		p.putOver(key, old, p.scratch)
	}
	return nil
}

// expire removes the blocks, from the first on, whose messages are all older than receipts are kept, when the newest full
// block of the channel was, and returns how many these are: a function of the timeline.
func (p *Partition) expire(c *channel) (blocks uint32, err error) {
	full := c.headSeq / receiptBlock * receiptBlock
	if full == 0 || c.logTime-c.firstTime <= receiptsKept || c.expireFull == full {
		return c.expired, nil
	}
	e := p.entryAt(c, full)
	expired := p.seqAt(c, e.logTime-receiptsKept-1, 1<<63-1) / receiptBlock
	if expired > c.expired {
		var lo, hi [keyBuf]byte
		id := p.blobs.get(c.id)
		err = p.eachStored(appendReceiptKey(lo[:0], id, c.expired, 0, nil), appendReceiptKey(hi[:0], id, expired, 0, nil), func(key, val []byte) error {
			p.del(key, val)
			return nil
		})
		if err != nil {
			return c.expired, err
		}
	}
	c.expired, c.expireFull = expired, full
	return expired, nil
}

// cutErased removes the receipts of all who were erased since the last cut, with one reading of each channel.
func (p *Partition) cutErased() error {
	byChannel := map[uint32]map[uint32]bool{}
	for _, e := range p.erasedPairs {
		if byChannel[e.ch] == nil {
			byChannel[e.ch] = map[uint32]bool{}
		}
		byChannel[e.ch][e.ord] = true
	}
	for ch, ords := range byChannel {
		if err := p.eraseReceipts(p.chans.at(ch), ords); err != nil {
			return err
		}
	}
	return nil
}

// eraseReceipts removes everything that is kept of members.
func (p *Partition) eraseReceipts(c *channel, ords map[uint32]bool) error {
	pages := map[uint32]bool{}
	for ord := range ords {
		pages[ord/pageLen] = true
	}
	id := p.blobs.get(c.id)
	prefix := append(append([]byte{keyReceipts}, id...), 0)
	return p.eachStored(prefix, prefixEnd(prefix), func(key, val []byte) error {
		at := key[len(prefix):]
		if len(at) < 8 || !pages[binary.BigEndian.Uint32(at[4:])] {
			return nil
		}
		list, err := appendBlock(nil, val, binary.BigEndian.Uint32(at), binary.BigEndian.Uint32(at[4:]), 0)
		if err != nil {
			return fmt.Errorf("record %q: %w", key, err)
		}
		rest := slices.DeleteFunc(slices.Clone(list), func(a advance) bool { return ords[a.ord] })
		switch {
		case len(rest) == len(list):
		case len(rest) == 0:
			p.del(key, val)
		default:
			p.putOver(key, val, encodeBlock(nil, rest))
		}
		return nil
	})
}

// eachStored calls fn for the records of the store from lo to before hi as they are now, but for those that were added since
// the last cut. No cut is outstanding. fn may write.
func (p *Partition) eachStored(lo, hi []byte, fn func(key, val []byte) error) error {
	it, err := p.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		switch val, deleted, known := p.now.get(it.Key()); {
		case !known:
			err = fn(it.Key(), it.Value())
		case !deleted:
			err = fn(it.Key(), val)
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}

// erasedPair is a member whose receipts are to be removed.
type erasedPair struct{ ch, ord uint32 }

// forgetReceipts removes what is kept of an erased user, and what was not told yet; his row is as before.
func (p *Partition) forgetReceipts(c *channel, r *row) {
	p.untellReceipts(c, r.user)
	if r.ord == noOrdinal {
		return
	}
	p.dropAdvances(c, func(a *advance) bool { return a.ord == r.ord })
	p.erasedPairs = append(p.erasedPairs, erasedPair{r.ch, r.ord})
}

// dropAdvances drops those of a channel's advances.
func (p *Partition) dropAdvances(c *channel, those func(*advance) bool) {
	p.eachAdvance(c, func(a *advance) {
		if those(a) {
			a.kind = entryDropped
			p.advanced[a.slot].end--
		}
	})
}
