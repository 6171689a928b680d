package projections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// loadHot reads everything under keyHot, which is ordered by channel, and rebuilds what is not stored: the user lists,
// the message tails and the triggers of what waits.
func (p *Partition) loadHot() error {
	it, err := p.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyHot}, UpperBound: []byte{keyHot + 1}})
	if err != nil {
		return err
	}
	for it.First(); it.Valid(); it.Next() {
		if err := p.loadRecord(it.Key()[1:], it.Value()); err != nil {
			return errors.Join(fmt.Errorf("record %q: %w", it.Key(), err), it.Close())
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	p.chans.each(func(_ uint32, c *channel) {
		if err == nil && c.id != 0 {
			err = p.loadOlderTail(c)
		}
		if err == nil && c.id != 0 {
			err = p.checkLoaded(c)
		}
	})
	for _, t := range p.threads[1:] {
		if t.first == 0 {
			p.findRoot(p.chans.at(t.ch), t)
		}
	}
	p.rows.each(func(ref uint32, r *row) {
		if r.ch != 0 && r.flags&rowThread != 0 {
			p.loadedFollow(r)
		}
		if r.ch == 0 || r.exc == 0 {
			return
		}
		p.await(ref)
		p.queuedIn(p.chans.at(r.ch), ref, r)
		// What an open time target reached was not told. All else that is seen was.
		x := p.excOf(r)
		if len(x.held)+len(x.floors) > 0 && !x.openInTime() {
			x.seen = p.signature(p.chans.at(r.ch), r)
		}
	})
	return errors.Join(err, p.Err())
}

func (p *Partition) loadRecord(key, val []byte) error {
	n := bytes.IndexByte(key, 0)
	if n <= 0 || n+1 >= len(key) {
		return errors.New("malformed key")
	}
	id, kind, rest := key[:n], key[n+1], key[n+2:]
	ci, c := p.ensureChannel(id)
	hash := recordHash(append([]byte{keyHot}, key...), val)
	p.hot.add(hash)
	switch kind {
	case hotChannel:
		c.hash = hash
		c.dirty |= dirtyStored
		return p.decodeChannel(c, val)
	case hotPage:
		if len(rest) != 4 {
			return errors.New("malformed key")
		}
		page := binary.BigEndian.Uint32(rest)
		if err := p.decodePage(ci, c, page, val); err != nil {
			return err
		}
		if page == 0 {
			c.pageH = hash
			c.dirty |= dirtyPage0Stored
			return nil
		}
		if c.more == 0 || int(page) > len(p.memberLists[c.more].pages) {
			return fmt.Errorf("page %d without its members", page)
		}
		s := &p.memberLists[c.more].pages[page-1]
		s.hash, s.stored = hash, true
		return nil
	case hotGuest:
		_, r := p.ensureRow(ci, p.ensureUser(rest))
		rd := reader{b: val}
		rd.row(r)
		r.flags |= rowStored
		return rd.done()
	case hotHeld:
		_, r := p.ensureRow(ci, p.ensureUser(rest))
		return p.ensureExc(r).decodeHeld(val)
	case hotOpen, hotWaiting, hotSpans:
		_, r := p.ensureRow(ci, p.ensureUser(rest))
		x, rd := p.ensureExc(r), reader{b: val}
		switch kind {
		case hotOpen:
			x.open = rd.events()
		case hotWaiting:
			x.waiting = rd.events()
		default:
			x.spans = rd.spans()
		}
		return rd.done()
	case hotSizes:
		rd := reader{b: val}
		p.ensureExt(c).sizes = rd.sizes()
		return rd.done()
	case hotUncounted, hotDeleted, hotAlls:
		if len(rest) != 2 {
			return errors.New("malformed key")
		}
		x := p.ensureExt(c)
		set := map[byte]*seqset{hotUncounted: &x.uncounted, hotDeleted: &x.deleted, hotAlls: &x.alls}[kind]
		return set.decode(binary.BigEndian.Uint16(rest), val)
	case hotMentions, hotSingles, hotQueued:
		if len(rest) < 4 || rest[len(rest)-3] != 0 {
			return errors.New("malformed key")
		}
		_, r := p.ensureRow(ci, p.ensureUser(rest[:len(rest)-3]))
		x := p.ensureExc(r)
		set := map[byte]*seqset{hotMentions: &x.mentions, hotSingles: &x.singles, hotQueued: &x.queued}[kind]
		return set.decode(binary.BigEndian.Uint16(rest[len(rest)-2:]), val)
	}
	return p.loadThreadRecord(ci, kind, rest, val)
}

// checkLoaded compares what was loaded of a channel with what its record says: a record that is missing would else be
// read as nothing.
func (p *Partition) checkLoaded(c *channel) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("channel %q: %s", p.blobs.get(c.id), fmt.Sprintf(format, args...))
	}
	if c.dirty&dirtyStored == 0 {
		return fail("its record is missing")
	}
	if c.ords > inlineMembers && (c.more == 0 || len(p.memberLists[c.more].rows) != int(c.ords-inlineMembers)) {
		return fail("a page of its %d members is missing", c.ords)
	}
	present := uint32(0)
	for ord := range c.ords {
		ref := p.member(c, ord)
		if ref == 0 {
			return fail("the record of member %d of %d is missing", ord, c.ords)
		}
		if p.rows.at(ref).flags&rowMember != 0 {
			present++
		}
	}
	uncounted := uint32(0)
	if x := p.extOf(c); x != nil {
		uncounted = x.uncounted.count()
	}
	switch {
	case present != c.members:
		return fail("%d members are present, its record says %d", present, c.members)
	case c.headSeq-uncounted != c.headPos:
		return fail("%d of its %d messages are not counted, its record says %d", uncounted, c.headSeq, c.headSeq-c.headPos)
	}
	return nil
}

// loadOlderTail completes the tail from the newest full block.
func (p *Partition) loadOlderTail(c *channel) error {
	full := c.headSeq / tailLen * tailLen
	if full == 0 {
		return nil
	}
	b, err := p.block(c, blockOf(full))
	if err != nil {
		return err
	}
	r := reader{b: b}
	r.uvarint()
	for s := full - tailLen + 1; s <= full && r.err == nil; s++ {
		enc := r.bytes()
		if r.err == nil && c.inTail(s) {
			if err := p.loadTail(c, s, enc); err != nil {
				return err
			}
		}
	}
	return r.done()
}
