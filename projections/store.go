package projections

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Records that are not hot are written through these, into the overlay; each keeps the digest true. The caller knows
// whether the key has a record, and which, so that nothing is read only to be replaced.

// get returns the record under key; ok is false if there is none. The bytes must not be changed.
func (p *Partition) get(key []byte) (val []byte, ok bool, err error) {
	if v, deleted, known := p.now.get(key); known {
		return v, !deleted, nil
	}
	if v, deleted, known := p.pending.get(key); known {
		return v, !deleted, nil
	}
	v, closer, err := p.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading key %q: %w", key, err)
	}
	val = append([]byte(nil), v...)
	return val, true, closer.Close()
}

func (p *Partition) putNew(key, val []byte) {
	h := recordHash(key, val)
	p.digest.add(h)
	if key[0] == keyHot {
		p.hot.add(h)
	}
	p.now.put(key, val, false)
}

func (p *Partition) putOver(key, old, val []byte) {
	p.without(key, old)
	p.putNew(key, val)
}

func (p *Partition) del(key, old []byte) {
	p.without(key, old)
	p.now.put(key, nil, true)
}

// without takes a record out of the digests.
func (p *Partition) without(key, old []byte) {
	h := recordHash(key, old)
	p.digest.sub(h)
	if key[0] == keyHot {
		p.hot.sub(h)
	}
}

// replace stores val under key, or nothing if val is empty, whatever was there.
func (p *Partition) replace(key, val []byte) {
	old, ok, err := p.get(key)
	if err != nil {
		p.corrupt(err)
		return
	}
	switch {
	case ok && len(val) == 0:
		p.del(key, old)
	case ok:
		p.putOver(key, old, val)
	case len(val) > 0:
		p.putNew(key, val)
	}
}

// scan calls fn for every record under prefix, pending ones included, in no order. fn may write. Only what is pending
// is held in memory: a channel may have more records than fit there.
func (p *Partition) scan(prefix []byte, fn func(key, val []byte)) error {
	type record struct{ key, val []byte }
	var found []record
	seen := map[string]bool{}
	for _, o := range []*overlay{p.now, p.pending} {
		if o == nil {
			continue
		}
		for i := range o.entries {
			e := &o.entries[i]
			if len(e.key) < len(prefix) || string(e.key[:len(prefix)]) != string(prefix) || seen[string(e.key)] {
				continue
			}
			seen[string(e.key)] = true
			if !e.deleted {
				found = append(found, record{e.key, e.val})
			}
		}
	}
	it, err := p.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return err
	}
	for it.First(); it.Valid(); it.Next() { // as the store was when it began
		if !seen[string(it.Key())] {
			fn(it.Key(), it.Value())
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	for _, r := range found {
		fn(r.key, r.val)
	}
	return nil
}

// What is in memory is encoded by the next Cut. These mark it as out of date in the store.

// touchChannel marks the channel record as out of date.
func (p *Partition) touchChannel(i uint32, c *channel) {
	c.dirty |= dirtyChannel
	p.listDirty(i, c)
}

// firstTouch gives a record to a channel of which chat.messages has said nothing yet.
func (p *Partition) firstTouch(i uint32, c *channel) {
	if c.dirty&dirtyStored == 0 {
		p.touchChannel(i, c)
	}
}

func (p *Partition) listDirty(i uint32, c *channel) {
	if c.dirty&dirtyListed == 0 {
		c.dirty |= dirtyListed
		p.dirtyChans = append(p.dirtyChans, i)
		p.dirtyBytes += 400
	}
}

// touchRow marks the record that holds the row as out of date.
func (p *Partition) touchRow(i uint32, r *row) {
	c := p.chans.at(r.ch)
	switch {
	case r.flags&rowThread != 0:
		if _, known := p.dirtyFollows[i]; !known {
			p.dirtyFollows[i] = struct{}{}
			p.dirtyBytes += 64
		}
	case r.ord == noOrdinal:
		if _, known := p.dirtyGuests[i]; !known {
			p.dirtyGuests[i] = struct{}{}
			p.dirtyBytes += 64
		}
	case r.ord < pageLen:
		if c.dirty&dirtyPage0 == 0 {
			c.dirty |= dirtyPage0
			p.dirtyBytes += 1600
		}
		p.listDirty(r.ch, c)
	default:
		pg := &p.memberLists[c.more].pages[r.ord/pageLen-1]
		if !pg.dirty {
			pg.dirty = true
			p.dirtyBytes += 1600
		}
		p.listDirty(r.ch, c)
	}
}

// touchExc marks the pair's sets and what it holds as out of date in the store.
func (p *Partition) touchExc(ref uint32, r *row) {
	if _, known := p.dirtyExcs[ref]; !known {
		p.dirtyExcs[ref] = struct{}{}
		p.dirtyBytes += 64
	}
}

// touchHeld is touchExc for a change that may have moved the base as well.
func (p *Partition) touchHeld(ref uint32, r *row) {
	p.touchExc(ref, r)
	p.touchRow(ref, r)
}

// dropGuest removes the record of a user who becomes a member.
func (p *Partition) dropGuest(ref uint32, r *row) {
	delete(p.dirtyGuests, ref)
	if r.flags&rowStored == 0 {
		return
	}
	r.flags &^= rowStored
	c := p.chans.at(r.ch)
	var kb [keyBuf]byte
	p.replace(append(appendHot(kb[:0], p.blobs.get(c.id), hotGuest), p.userID(r.user)...), nil)
}

// deleteChannel forgets all of a channel but that it is gone (DESIGN §4.1). Its cost is that of what is forgotten.
func (p *Partition) deleteChannel(ci uint32, c *channel) {
	id := p.blobs.get(c.id)
	for ref := c.rows; ref != 0; {
		r := p.rows.at(ref)
		if !r.idle() {
			p.emit(ref) // others than members have deltas too
		}
		next := r.nextRow
		if r.exc != 0 {
			p.excs[r.exc] = nil
			p.freeExcs = append(p.freeExcs, r.exc)
		}
		p.blobs.release(r.lastID)
		p.blobs.release(r.firstID)
		*r = row{ch: r.ch, user: r.user, ord: noOrdinal, nextUser: r.nextUser, nextRow: r.nextRow, lastR: r.lastR, lastD: r.lastD,
			out: r.out, scope: r.scope, flags: r.flags & (rowChanged | rowCheck | rowThread)}
		delete(p.dirtyGuests, ref)
		delete(p.dirtyFollows, ref)
		delete(p.dirtyExcs, ref)
		ref = next
	}
	var kb [keyBuf]byte
	for page := range (c.ords + pageLen - 1) / pageLen {
		if h, stored := p.pageHash(c, page); stored {
			p.digest.sub(h)
			p.hot.sub(h)
			p.now.put(appendPageKey(kb[:0], id, page), nil, true)
		}
	}
	if c.more != 0 {
		p.memberLists[c.more] = nil
	}
	p.deleteThreads(c)
	p.dropAdvances(c, func(*advance) bool { return true })
	if c.ext != 0 {
		p.exts[c.ext] = nil
	}
	p.blobs.release(c.maxID)
	for i := range c.tail {
		p.blobs.release(c.tail[i])
	}
	for _, kind := range []byte{keyHot, keyIndex, keyLog, keyReceipts} {
		prefix := append(append([]byte{kind}, id...), 0)
		err := p.scan(prefix, func(key, val []byte) {
			if kind != keyHot || (key[len(prefix)] != hotChannel && key[len(prefix)] != hotPage) {
				p.del(key, val)
			}
		})
		if err != nil {
			p.corrupt(fmt.Errorf("deleting channel %q: %w", id, err))
		}
	}
	*c = channel{id: c.id, flags: chDeleted, pending: c.pending &^ outMembers, lastM: c.lastM, rows: c.rows,
		time: minTime, logTime: minTime, hash: c.hash, dirty: c.dirty &^ (dirtyPage0 | dirtyPage0Stored)}
	p.emitChannel(ci, c)
}
