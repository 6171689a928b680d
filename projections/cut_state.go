package projections

import (
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/state"
)

func (k *cutting) cutChannel(ci uint32, c *state.Channel) error {
	id := k.rules.Blobs.Get(c.ID)
	var err error
	if c.Dirty&state.DirtyChannel != 0 {
		k.rules.Scratch = k.appendChannel(k.rules.Scratch[:0], ci, c)
		key := keys.AppendHot(k.rules.KeyScratch[:0], id, keys.HotChannel)
		err = k.set(key, k.rules.Scratch, &c.Hash, c.Dirty&state.DirtyStored != 0)
		c.Dirty |= state.DirtyStored
		if c.Flags&state.ChannelDeleted != 0 {
			k.written.Now.Put(key, k.rules.Scratch, false) // readable before the cut is applied, as the channel leaves memory
		}
	}
	if err == nil && c.Dirty&state.DirtyPage0 != 0 {
		k.rules.Scratch = k.appendPage(k.rules.Scratch[:0], c, 0)
		err = k.set(keys.AppendPage(k.rules.KeyScratch[:0], id, 0), k.rules.Scratch, &c.PageH, c.Dirty&state.DirtyPage0Stored != 0)
		c.Dirty |= state.DirtyPage0Stored
	}
	if c.More != 0 {
		pages := k.rules.MemberLists.At(c.More).Pages()
		for i := range pages {
			if err == nil && pages[i].Dirty {
				k.rules.Scratch = k.appendPage(k.rules.Scratch[:0], c, uint32(i+1))
				err = k.set(keys.AppendPage(k.rules.KeyScratch[:0], id, uint32(i+1)), k.rules.Scratch, &pages[i].Hash, pages[i].Stored)
				pages[i].Dirty, pages[i].Stored = false, true
			}
		}
	}
	if x := k.rules.ExtraOf(c); x != nil {
		k.cutSet(&x.Uncounted, id, keys.HotUncounted, nil)
		k.cutSet(&x.Deleted, id, keys.HotDeleted, nil)
		k.cutSet(&x.Alls, id, keys.HotAlls, nil)
		if x.SizesDirty {
			k.rules.Scratch = records.AppendSizes(k.rules.Scratch[:0], x.Sizes)
			k.replace(keys.AppendHot(k.rules.KeyScratch[:0], id, keys.HotSizes), k.rules.Scratch)
			x.SizesDirty = false
		}
	}
	c.Dirty &= state.DirtyStored | state.DirtyPage0Stored | state.ChannelUsed
	if err != nil {
		return fmt.Errorf("building a batch: %w", err)
	}
	return nil
}

func (k *cutting) cutGuest(ref uint32) {
	r := k.rules.Rows.At(ref)
	if r.Ord() != state.NoOrdinal {
		return
	}
	c := k.rules.Channels.At(r.Channel)
	k.note(r.Channel, c)
	key := append(keys.AppendHot(k.rules.KeyScratch[:0], k.rules.Blobs.Get(c.ID), keys.HotGuest), k.rules.UserID(r.User)...)
	k.rules.Scratch = k.rules.Scratch[:0]
	if !k.rules.Idle(r) {
		k.rules.Scratch = records.AppendRow(k.rules.Scratch, r, k.rules.Whole(r), k.rules.ExtraOfPair(r))
	}
	if stored := r.Flags&state.RowStored != 0; stored != (len(k.rules.Scratch) > 0) {
		k.guests = append(k.guests, ref)
	}
	k.replace(key, k.rules.Scratch)
}

func (k *cutting) cutExc(ref uint32) {
	r := k.rules.Rows.At(ref)
	x := k.rules.ExtraOfPair(r)
	if x == nil {
		return
	}
	c := k.rules.Channels.At(r.Channel)
	k.note(r.Channel, c)
	channel, who := k.rules.Blobs.Get(c.ID), k.rules.UserID(r.User)
	kinds := keys.InChannel
	if r.Flags&state.RowThread != 0 {
		kinds = keys.InThread
		who = k.appendFollower(k.user[:0], r)
	}
	k.cutSet(&x.Mentions, channel, kinds.Mentions, who)
	k.cutSet(&x.Singles, channel, kinds.Singles, who)
	put := func(kind byte, val []byte) {
		k.rules.Scratch = val
		k.replace(append(keys.AppendHot(k.rules.KeyScratch[:0], channel, kind), who...), val)
	}
	put(kinds.Pending, records.AppendUnsettled(k.rules.Scratch[:0], x))
	put(kinds.Open, records.AppendEvents(k.rules.Scratch[:0], x.OpenReads))
	if w := x.WithThreads; w != nil && w.Dirty {
		put(kinds.ReadAll, records.AppendWithThreads(k.rules.Scratch[:0], w))
		w.Dirty = false
	}
	if r.Flags&state.RowThread == 0 {
		k.cutSet(&x.Queued, channel, keys.HotQueued, who)
		put(keys.HotWaiting, records.AppendEvents(k.rules.Scratch[:0], x.WaitingDeliveries))
		put(keys.HotSpans, records.AppendSpans(k.rules.Scratch[:0], x.Spans))
		if x.Hidden != nil {
			k.cutSet(&x.Hidden.From, channel, keys.HotUnseen, who)
			k.cutSet(&x.Hidden.Own, channel, keys.HotHidden, who)
			if x.Hidden.ToDirty {
				put(keys.HotHiddenTo, records.AppendHiddenTo(k.rules.Scratch[:0], x.Hidden))
				x.Hidden.ToDirty = false
			}
		}
		if x.SettingsDirty {
			put(keys.HotSettings, records.AppendMarkers(k.rules.Scratch[:0], x.Settings))
			x.SettingsDirty = false
		}
	}
	if x.Spent(r) || x.Empty() {
		k.excs = append(k.excs, ref)
	}
}

// trimExc frees the parts of a row's extra that it no longer needs. The caller holds Lock.
func (p *Partition) trimExc(ref uint32) {
	r := p.rules.Rows.At(ref)
	x := p.rules.ExtraOfPair(r)
	x.Forget(r)
	if x.Empty() {
		p.rules.DropExtra(r)
		p.rules.Imply(r)
	}
}

// set writes a hot record whose previous hash the caller has.
func (k *cutting) set(key, val []byte, hash *[2]uint64, stored bool) error {
	if stored {
		k.written.Digest.Sub(*hash)
		k.written.Hot.Sub(*hash)
	}
	*hash = keys.RecordHash(key, val)
	k.written.Digest.Add(*hash)
	k.written.Hot.Add(*hash)
	return k.batch.Set(key, val, nil)
}
