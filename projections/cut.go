package projections

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Cut is dirty state with the position it stands for, encoded and not yet written.
type Cut struct {
	Position Position
	Bytes    int

	p     *Partition
	batch *pebble.Batch
}

// DirtyBytes estimates what the next Cut will write.
func (p *Partition) DirtyBytes() int64 { return p.dirtyBytes + p.now.bytes }

// RareCut is how much may be dirty, in bytes as DirtyBytes counts them, where nobody needs a recent store nor waits for
// what is locked while it is cut: a share of what is in memory. A cut writes a page for each channel that changed, so the
// more channels there are the longer it takes until an event costs less than a page of its own: with 5 million pairs a cut
// for each 32 MiB costs three times what all else does.
func (p *Partition) RareCut() int64 { return rareCut(p.stateBytes()) }

// rareCut has an upper limit so that a cut stays far from the 4 GiB that a batch of Pebble can hold: a page of long ids is
// some times larger than DirtyBytes takes it for.
func rareCut(stateBytes int64) int64 {
	const share, most = 4, 256 << 20
	return min(stateBytes/share, most)
}

// Cut encodes all dirty state, with the present position and digest, into one batch. Nothing is written until Apply:
// the fold goes on meanwhile, and a cut that is never applied was never there. Only one may be outstanding. Everything
// must have been drained. Lock is held.
func (p *Partition) Cut() (*Cut, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	if len(p.outRows)+len(p.outChans)+len(p.outThreads)+len(p.outReceiptChans) > 0 {
		return nil, errors.New("changes are not drained: a cut now would hold what was never published")
	}
	if p.pending != nil {
		return nil, errors.New("a cut is outstanding: apply it before the next")
	}
	b := p.db.NewBatchWithSize(int(p.DirtyBytes()) + 4096)
	for ref := range p.dirtyGuests {
		p.cutGuest(ref)
	}
	for ref := range p.dirtyExcs {
		p.cutExc(ref)
	}
	p.cutThreads()
	if err := p.cutReceipts(); err != nil {
		return nil, p.first(err)
	}
	for _, ci := range p.dirtyChans {
		if err := p.cutChannel(b, p.chans.at(ci)); err != nil {
			return nil, p.first(err)
		}
	}
	for i := range p.now.entries {
		e := &p.now.entries[i]
		var err error
		if e.deleted {
			err = b.Delete(e.key, nil)
		} else {
			err = b.Set(e.key, e.val, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("building a batch: %w", err)
		}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	h := p.header()
	p.scratch = h.append(p.scratch[:0])
	if err := b.Set([]byte{keyHeader}, p.scratch, nil); err != nil {
		return nil, fmt.Errorf("building a batch: %w", err)
	}
	if err := p.link(b); err != nil {
		return nil, fmt.Errorf("building a batch: %w", err)
	}
	p.pending, p.now = p.now, &overlay{}
	p.dirtyChans = p.dirtyChans[:0]
	clear(p.dirtyGuests)
	clear(p.dirtyExcs)
	p.dirtyBytes = 0
	return &Cut{Position: p.pos, Bytes: b.Len(), p: p, batch: b}, nil
}

// Apply writes the cut without waiting for the disk: Kafka is the durable log. It takes Lock for a moment at its end.
func (c *Cut) Apply() error {
	err := c.batch.Commit(pebble.NoSync)
	if err == nil {
		err = c.batch.Close()
	}
	c.p.Lock()
	defer c.p.Unlock()
	if err == nil {
		err = c.p.Err() // what failed in Pebble's background, where it reports success
	}
	if err != nil {
		err = fmt.Errorf("writing the state at position %v: %w", c.Position, err)
		c.p.corrupt(err)
		return err
	}
	c.p.pending = nil
	c.p.stored = c.Position
	return nil
}

func (p *Partition) header() header {
	return header{
		format: FormatVersion, fold: FoldVersion, id: p.id, pos: p.pos,
		times: [...]int64{p.logTime, p.readTime, p.deliveryTime}, digest: p.digest,
	}
}

// set writes a hot record whose old hash is known.
func (p *Partition) set(b *pebble.Batch, key, val []byte, hash *[2]uint64, stored bool) error {
	if stored {
		p.digest.sub(*hash)
		p.hot.sub(*hash)
	}
	*hash = recordHash(key, val)
	p.digest.add(*hash)
	p.hot.add(*hash)
	return b.Set(key, val, nil)
}

func (p *Partition) cutChannel(b *pebble.Batch, c *channel) error {
	id := p.blobs.get(c.id)
	var kb [keyBuf]byte
	var err error
	if c.dirty&dirtyChannel != 0 {
		p.scratch = p.appendChannel(p.scratch[:0], c)
		err = p.set(b, appendHot(kb[:0], id, hotChannel), p.scratch, &c.hash, c.dirty&dirtyStored != 0)
		c.dirty |= dirtyStored
	}
	if err == nil && c.dirty&dirtyPage0 != 0 {
		p.scratch = p.appendPage(p.scratch[:0], c, 0)
		err = p.set(b, appendPageKey(kb[:0], id, 0), p.scratch, &c.pageH, c.dirty&dirtyPage0Stored != 0)
		c.dirty |= dirtyPage0Stored
	}
	if c.more != 0 {
		pages := p.memberLists[c.more].pages
		for i := range pages {
			if err == nil && pages[i].dirty {
				p.scratch = p.appendPage(p.scratch[:0], c, uint32(i+1))
				err = p.set(b, appendPageKey(kb[:0], id, uint32(i+1)), p.scratch, &pages[i].hash, pages[i].stored)
				pages[i].dirty, pages[i].stored = false, true
			}
		}
	}
	if x := p.extOf(c); x != nil {
		p.cutSet(&x.uncounted, id, hotUncounted, nil)
		p.cutSet(&x.deleted, id, hotDeleted, nil)
		p.cutSet(&x.alls, id, hotAlls, nil)
		if x.sizesDirty {
			p.scratch = appendSizes(p.scratch[:0], x.sizes)
			p.replace(appendHot(kb[:0], id, hotSizes), p.scratch)
			x.sizesDirty = false
		}
	}
	c.dirty &= dirtyStored | dirtyPage0Stored
	if err != nil {
		return fmt.Errorf("building a batch: %w", err)
	}
	return nil
}

func (p *Partition) pageHash(c *channel, page uint32) (hash [2]uint64, stored bool) {
	if page == 0 {
		return c.pageH, c.dirty&dirtyPage0Stored != 0
	}
	s := &p.memberLists[c.more].pages[page-1]
	return s.hash, s.stored
}

// cutSet writes the records of a set that changed.
func (p *Partition) cutSet(s *seqset, channel []byte, kind byte, user []byte) {
	var kb [keyBuf]byte
	for _, hi := range s.dirty {
		p.scratch = s.encode(p.scratch[:0], hi)
		p.replace(appendSetKey(kb[:0], channel, kind, user, hi), p.scratch)
	}
	s.dirty = s.dirty[:0]
}

func (p *Partition) cutGuest(ref uint32) {
	r := p.rows.at(ref)
	if r.ord != noOrdinal {
		return
	}
	c := p.chans.at(r.ch)
	var kb [keyBuf]byte
	key := append(appendHot(kb[:0], p.blobs.get(c.id), hotGuest), p.userID(r.user)...)
	p.scratch = p.scratch[:0]
	r.flags &^= rowStored
	if !r.idle() {
		p.scratch = appendRow(p.scratch, r)
		r.flags |= rowStored
	}
	p.replace(key, p.scratch)
}

func (p *Partition) cutExc(ref uint32) {
	r := p.rows.at(ref)
	x := p.excOf(r)
	if x == nil {
		return
	}
	channel, who := p.blobs.get(p.chans.at(r.ch).id), p.userID(r.user)
	kinds := [...]byte{hotMentions, hotSingles, hotHeld, hotOpen}
	if r.flags&rowThread != 0 {
		kinds = [...]byte{hotThreadMentions, hotThreadSingles, hotThreadHeld, hotThreadOpen}
		var ub [keyBuf]byte
		who = p.appendFollower(ub[:0], r)
	}
	p.cutSet(&x.mentions, channel, kinds[0], who)
	p.cutSet(&x.singles, channel, kinds[1], who)
	put := func(kind byte, val []byte) {
		var kb [keyBuf]byte
		p.scratch = val
		p.replace(append(appendHot(kb[:0], channel, kind), who...), val)
	}
	put(kinds[2], x.appendHeld(p.scratch[:0]))
	put(kinds[3], appendEvents(p.scratch[:0], x.open))
	if r.flags&rowThread == 0 {
		p.cutSet(&x.queued, channel, hotQueued, who)
		put(hotWaiting, appendEvents(p.scratch[:0], x.waiting))
		put(hotSpans, appendSpans(p.scratch[:0], x.spans))
	}
	if x.ownKept && r.lastOwn <= r.ptr {
		x.own, x.ownKept = nil, false
	}
	if x.empty() {
		p.excs[r.exc] = nil
		p.freeExcs = append(p.freeExcs, r.exc)
		r.exc = 0
	}
}
