package projections

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/store"
	"github.com/tidemark/tidemark/projections/internal/trimming"
	"github.com/tidemark/tidemark/projections/internal/warming"
)

// Cut encodes all dirty state, with the current position and digest, into one batch. Only Apply
// writes the batch. Until then the fold may go on, and dropping the cut has no effect on the store.
// Only one cut may be outstanding, and everything must have been drained.
//
// Only the goroutine that folds calls Cut, without holding Lock. Cut takes Lock itself at its end,
// in holds of at most keptPerHold small changes in memory, however much is dirty.
func (p *Partition) Cut() (*Cut, error) {
	if err := p.rules.Err(); err != nil {
		return nil, err
	}
	if len(p.rules.OutRows)+len(p.rules.OutChannels)+len(p.rules.OutThreads)+len(p.rules.OutReceiptChannels)+len(p.rules.Retractions) > 0 {
		return nil, errors.New("changes are not drained: a cut now would store changes that were never published")
	}
	if p.outstanding() {
		return nil, errors.New("a cut is outstanding: apply it before the next")
	}
	p.Rest()
	k := &cutting{Partition: p, written: p.rules.Written, batch: p.db.NewBatchWithSize(int(p.rules.DirtyBytes()) + 4096)}
	k.written.Now = &overlay.Overlay{Below: p.rules.Written.Now}
	err := k.encode()
	if err == nil {
		err = p.rules.Err()
	}
	if err != nil {
		return nil, p.rules.FirstError(err) // the dirty marks may be incomplete now
	}
	c := &Cut{Position: p.rules.Positions, Bytes: k.batch.Len(), p: p, batch: k.batch, forgets: k.forgets()}
	k.finish()
	return c, nil
}

// encode fills the batch.
func (k *cutting) encode() error {
	// The more of a batch is in the order of its keys, the less it costs to write.
	dirty := k.rules.DirtyChannels
	k.rules.DirtyChannels, k.spareDirty = k.byID.Sort(k.spareDirty[:0], dirty, k.channelID), dirty
	trimming := trimming.Trimming{State: &k.rules.State, Into: &k.written, Stored: k.get, Step: k.step}
	if err := trimming.Logs(); err != nil {
		return err
	}
	for ref := range k.rules.DirtyGuests {
		k.cutGuest(ref)
		k.step()
	}
	for ref := range k.rules.DirtyPairExtras {
		k.cutExc(ref)
		k.step()
	}
	k.cutThreads()
	if err := k.cutReceipts(); err != nil {
		return err
	}
	for i, ci := range k.rules.DirtyChannels {
		warming.Channels(&k.rules.State, warming.Due(k.rules.DirtyChannels, i))
		c := k.rules.Channels.At(ci)
		k.note(ci, c)
		if err := k.cutChannel(ci, c); err != nil {
			return err
		}
		k.step()
	}
	for _, o := range []*overlay.Overlay{k.written.Now.Below, k.written.Now} { // the upper overlay last: its records win
		for i := range o.Count() {
			e := o.At(i)
			var err error
			if e.Deleted {
				err = k.batch.Delete(e.Key, nil)
			} else {
				err = k.batch.Set(e.Key, e.Val, nil)
			}
			if err != nil {
				return fmt.Errorf("building a batch: %w", err)
			}
		}
	}
	h := k.header(k.written.Digest)
	k.rules.Scratch = h.Append(k.rules.Scratch[:0])
	err := k.batch.Set([]byte{keys.Header}, k.rules.Scratch, nil)
	if err == nil {
		k.cuts, err = store.Link(k.batch, k.cuts, k.written.Hot)
	}
	if err != nil {
		return fmt.Errorf("building a batch: %w", err)
	}
	return nil
}

// keptPerHold is how many rows finish changes in one hold of the lock.
const keptPerHold = 1024

// finish makes the cut visible to readers and clears the dirty marks.
func (k *cutting) finish() {
	p := k.Partition
	p.byID.Trim()
	p.rules.DirtyChannels, p.spareDirty, p.slots = arena.Trimmed(p.rules.DirtyChannels), arena.Trimmed(p.spareDirty), arena.Trimmed(p.slots)
	p.exclusive("cut", func() {
		p.stored.Pending = k.written.Now
		p.rules.Written = overlay.Written{Now: &overlay.Overlay{}, Digest: k.written.Digest, Hot: k.written.Hot}
		p.rules.ReceiptChannels, p.rules.ErasedPairs = p.rules.ReceiptChannels[:0], p.rules.ErasedPairs[:0]
		p.rules.ReceiptEntries.Reset()
		p.mergeMemory = arena.ListBytes(p.merging) + p.sorter.HeapBytes() + p.byID.HeapBytes() + arena.ListBytes(p.spareDirty) + arena.ListBytes(p.slots) + arena.ListBytes(p.rules.Endings) + arena.ListBytes(p.rules.Due)
		p.batchMemory = arena.ListBytes(k.batch.Repr())
	})
	p.rules.DirtyChannels = p.rules.DirtyChannels[:0]
	for _, m := range []map[uint32]struct{}{p.rules.DirtyGuests, p.rules.DirtyPairExtras, p.rules.DirtyThreads, p.rules.DirtyFollows} {
		clear(m)
	}
	p.rules.MarkedBytes = 0
	p.eachLocked(k.guests, func(ref uint32) { p.rules.Rows.At(ref).Flags ^= state.RowStored })
	p.eachLocked(k.excs, p.trimExc)
	p.leave(k)
}

// eachLocked calls fn for rows under Lock. It releases Lock after every keptPerHold rows.
func (p *Partition) eachLocked(refs []uint32, fn func(ref uint32)) {
	for some := range slices.Chunk(refs, keptPerHold) {
		p.exclusive("cut", func() {
			for _, ref := range some {
				fn(ref)
			}
		})
		p.step()
	}
}

// Apply writes the cut. Only a large cut and the first one of a store wait for the disk, for Kafka is
// the durable log. Apply takes Lock briefly at its end.
func (c *Cut) Apply() error {
	err := guard.Err("writing a batch", func() error {
		if err := c.p.writer.Write(c.batch); err != nil {
			return err
		}
		return c.batch.Close()
	})
	if guard.Of(err) != nil {
		c.p.fuse.Blow(err) // Pebble may have applied a part of the batch
	}
	c.p.Lock()
	defer c.p.Unlock()
	defer c.p.TimeHold("apply")()
	if failed := c.p.rules.Err(); failed != nil {
		err = failed // a write failed: Pebble reports success (Fuse), or an error that is a consequence
	}
	if err != nil {
		err = fmt.Errorf("writing the state at position %v: %w", c.Position, err)
		c.p.rules.Fail(err)
		return err
	}
	c.p.stored.Pending, c.p.batchMemory = nil, 0
	c.p.applied = c.Position
	return nil
}

// header returns the header of a store with the given digest.
func (p *Partition) header(d keys.Digest) identity.Header {
	format := uint64(FormatVersion)
	switch {
	case p.id.Settings.TrimLog:
		format = NewestFormat
	case p.rules.Customized > 0:
		format = identity.CustomizedFormat
	case p.rules.SeededChannels > 0:
		format = identity.SeededFormat
	}
	return identity.Header{
		Format: format, Fold: FoldVersion, Identity: p.id, Position: p.rules.Positions,
		Times: [...]int64{p.rules.MessageTime, p.rules.ReadTime, p.rules.DeliveryTime}, Digest: d,
	}
}
