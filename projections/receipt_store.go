package projections

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/store"
)

// Receipts are stored in blocks of BlockLen messages and one page of members, of the channel or of
// one thread. A block is a function of all receipts of its messages; a receipt that another one
// includes is not stored. Folding only appends to a list in memory and reads nothing. The next cut
// reads and writes each affected block once.

func (p *Partition) receiptKey(dst []byte, c *state.Channel, a *receipts.Entry) []byte {
	var thread []byte
	if a.Thread != 0 {
		thread = p.rules.Blobs.Get(p.rules.Threads.At(a.Thread).ID)
	}
	return keys.AppendReceipt(dst, p.rules.Blobs.Get(c.ID), a.Block(), a.Ord/keys.PageLen, thread)
}

// cutReceipts writes the blocks of everything that was appended since the last cut, and drops
// blocks that are too old.
func (k *cutting) cutReceipts() (err error) {
	for _, ci := range k.rules.DirtyChannels {
		if _, err := k.expire(k.rules.Channels.At(ci)); err != nil {
			return err
		}
	}
	if err := k.cutErased(); err != nil {
		return err
	}
	order := k.slots[:0]
	for _, ci := range k.rules.DirtyChannels { // in the order of their ids
		if c := k.rules.Channels.At(ci); k.rules.NewestReceiptEntry(ci, c) != 0 {
			order = append(order, c.ReceiptSlot)
		}
	}
	if k.slots = order; len(order) < len(k.rules.ReceiptChannels) { // a channel with receipts is not dirty
		order = k.byID.Of(len(k.rules.ReceiptChannels), func(i uint32) []byte { return k.channelID(k.rules.ReceiptChannels[i].Channel) })
	}
	if len(order) > 1 {
		prefix, channels := []byte{keys.Receipts}, k.rules.Channels.Len()+k.rules.Cold.Count
		if k.ascending, err = store.NewAscending(k.records, prefix, keys.PrefixEnd(prefix), len(order) < channels/sparseReceipts); err != nil {
			return err
		}
		defer func() { err, k.ascending = errors.Join(err, k.ascending.Close()), nil }()
	}
	k.merging = receipts.Gather(k.merging, &k.rules.ReceiptEntries, k.rules.ReceiptChannels, order)
	from := uint32(0)
	for _, i := range order {
		g := k.rules.ReceiptChannels[i]
		if err := k.mergeChannel(k.rules.Channels.At(g.Channel), k.merging[from:g.End]); err != nil {
			return err
		}
		from = g.End
	}
	return nil
}

// If fewer than one channel in sparseReceipts has receipts, the iterator uses the filters of tables.
// Without them it would read the blocks that it passes over.
const sparseReceipts = 64

// mergeChannel adds the entries of a channel to their blocks.
func (k *cutting) mergeChannel(c *state.Channel, list []receipts.Entry) error {
	expired, err := k.expire(c)
	if err != nil {
		return err
	}
	list = k.sorter.Sort(list)
	for len(list) > 0 && err == nil {
		n := 1
		for n < len(list) && list[n].SameBlock(&list[0]) {
			n++
		}
		if list[0].Block() >= expired {
			err = k.mergeBlock(c, list[:n])
		}
		list = list[n:]
	}
	return err
}

// mergeBlock adds entries to their block.
func (k *cutting) mergeBlock(c *state.Channel, more []receipts.Entry) error {
	key := k.receiptKey(k.rules.KeyScratch[:0], c, &more[0])
	old, stored, err := k.get(key)
	if err != nil {
		return err
	}
	block, merged := &k.blockBuf[0], &k.blockBuf[1]
	if stored {
		*block, err = receipts.DecodeBlock((*block)[:0], old, more[0].Block(), more[0].Ord/keys.PageLen, more[0].Thread)
		if err != nil {
			return fmt.Errorf("receipts of channel %q, record %q: %w", k.rules.Blobs.Get(c.ID), key, err)
		}
		*merged = receipts.MergeBlocks((*merged)[:0], *block, more)
		more = *merged
	}
	*block = receipts.JoinBlock((*block)[:0], more)
	k.rules.Scratch = receipts.EncodeBlock(k.rules.Scratch[:0], *block)
	switch {
	case !stored:
		k.written.PutNew(key, k.rules.Scratch)
	case string(old) != string(k.rules.Scratch):
		k.written.PutOver(key, old, k.rules.Scratch)
	}
	return nil
}

// expire removes the first blocks of a channel, as far as all their messages are older than Kept at
// the log time of the newest full block. It returns the number of expired blocks, which is a
// function of the timeline only.
func (k *cutting) expire(c *state.Channel) (blocks uint32, err error) {
	full := c.HeadSeq / receipts.BlockLen * receipts.BlockLen
	if full == 0 || c.LogTime-c.FirstTime <= receipts.Kept || c.ExpireFull == full {
		return c.Expired, nil
	}
	e := k.rules.EntryAt(c, full)
	expired := k.rules.WholeAt(c, e.LogTime-receipts.Kept-1) / receipts.BlockLen
	if expired > c.Expired {
		var lo, hi [keys.Buf]byte
		id := k.rules.Blobs.Get(c.ID)
		err = k.eachStored(keys.AppendReceipt(lo[:0], id, c.Expired, 0, nil), keys.AppendReceipt(hi[:0], id, expired, 0, nil), func(key, val []byte) error {
			k.written.Del(key, val)
			return nil
		})
		if err != nil {
			return c.Expired, err
		}
	}
	c.Expired, c.ExpireFull = expired, full
	return expired, nil
}

// cutErased removes the receipts of all users who were erased since the last cut, reading each
// channel once.
func (k *cutting) cutErased() error {
	byChannel := map[uint32]map[uint32]bool{}
	for _, e := range k.rules.ErasedPairs {
		if byChannel[e.Channel] == nil {
			byChannel[e.Channel] = map[uint32]bool{}
		}
		byChannel[e.Channel][e.Ord] = true
	}
	for ch, ords := range byChannel {
		if err := k.eraseReceipts(k.rules.Channels.At(ch), ords); err != nil {
			return err
		}
	}
	return nil
}

// eraseReceipts removes all receipts of the given members.
func (k *cutting) eraseReceipts(c *state.Channel, ords map[uint32]bool) error {
	pages := map[uint32]bool{}
	for ord := range ords {
		pages[ord/keys.PageLen] = true
	}
	id := k.rules.Blobs.Get(c.ID)
	prefix := append(append([]byte{keys.Receipts}, id...), 0)
	return k.eachStored(prefix, keys.PrefixEnd(prefix), func(key, val []byte) error {
		at := key[len(prefix):]
		if len(at) < 8 || !pages[binary.BigEndian.Uint32(at[4:])] {
			return nil
		}
		list, err := receipts.DecodeBlock(nil, val, binary.BigEndian.Uint32(at), binary.BigEndian.Uint32(at[4:]), 0)
		if err != nil {
			return fmt.Errorf("record %q: %w", key, err)
		}
		rest := slices.DeleteFunc(slices.Clone(list), func(a receipts.Entry) bool { return ords[a.Ord] })
		switch {
		case len(rest) == len(list):
		case len(rest) == 0:
			k.written.Del(key, val)
		default:
			k.written.PutOver(key, val, receipts.EncodeBlock(nil, rest))
		}
		return nil
	})
}

// eachStored calls fn for the current records of the store in [lo, hi), without those that were
// added since the last cut. fn may write.
func (k *cutting) eachStored(lo, hi []byte, fn func(key, val []byte) error) error {
	k.reads()
	it, err := k.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		switch val, deleted, known := k.written.Now.Get(it.Key()); {
		case !known:
			err = fn(it.Key(), it.Value())
		case !deleted:
			err = fn(it.Key(), val)
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}
