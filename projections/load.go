package projections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// loadHot reads all records under Hot, which are ordered by channel, and rebuilds what is not
// stored: the user lists, the message tails and the waiters.
func (p *Partition) loadHot() error {
	it, err := p.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keys.Hot}, UpperBound: []byte{keys.Hot + 1}})
	if err != nil {
		return err
	}
	if err := p.loadRecords(it); err != nil {
		return err
	}
	p.rules.Channels.Each(func(_ uint32, c *state.Channel) {
		if err == nil && c.ID != 0 {
			err = p.loadOlderTail(c)
		}
		if err == nil && c.ID != 0 {
			err = p.checkLoaded(c)
		}
	})
	if err = errors.Join(err, p.rules.Err()); err != nil {
		return err // the code below relies on these checks
	}
	if p.planted != nil {
		p.planted("checked")
	}
	p.rules.Threads.Each(func(t *state.Thread) {
		if t.First == 0 {
			p.rules.FindRoot(p.rules.Channels.At(t.Channel), t)
		}
	})
	p.rules.Rows.Each(func(ref uint32, r *state.Row) {
		if r.Channel != 0 && r.Flags&state.RowThread != 0 {
			p.loadedFollow(r)
		}
		if r.Channel == 0 || r.Extra == 0 {
			return
		}
		// An older build, which did not recognize expired ids, may have held an event that names
		// one.
		p.rules.SettleOpen(ref)
		p.rules.Settle(ref)
		p.rules.Await(ref)
		p.rules.ListQueued(p.rules.Channels.At(r.Channel), ref, r)
		// A pair with an open time target may not have been published at its pointer. Everything
		// else that is visible has been.
		x := p.rules.ExtraOfPair(r)
		if len(x.Unsettled)+len(x.Floors) > 0 && !x.OpenInTime() {
			x.LastSeen = p.rules.Signature(p.rules.Channels.At(r.Channel), r)
		}
	})
	p.leaveLoaded()
	return p.rules.Err()
}

// loadRecords loads all records of the iterator and closes it.
func (p *Partition) loadRecords(it *pebble.Iterator) (err error) {
	defer func() { err = errors.Join(err, it.Close()) }()
	for it.First(); it.Valid(); it.Next() {
		if err := p.loadRecord(it.Key()[1:], it.Value()); err != nil {
			return fmt.Errorf("record %q: %w", it.Key(), err)
		}
	}
	return it.Error()
}

func (p *Partition) loadRecord(key, val []byte) error {
	n := bytes.IndexByte(key, 0)
	if n <= 0 || n+1 >= len(key) {
		return errors.New("malformed key")
	}
	id, kind, rest := key[:n], key[n+1], key[n+2:]
	hash := keys.RecordHash(append([]byte{keys.Hot}, key...), val)
	p.rules.Written.Hot.Add(hash)
	if kind == keys.HotChannel && len(val) > 0 && val[0]&state.ChannelDeleted != 0 { // a deleted channel is cold
		p.rules.Cold.Add(xxh3.Hash(id))
		return p.decodeChannel(0, &state.Channel{}, val)
	}
	ci := p.rules.ChannelOf(id)
	if ci == 0 {
		ci, _ = p.rules.NewChannel(id)
	}
	return p.loadInto(ci, p.rules.Channels.At(ci), kind, rest, hash, val)
}

// loadInto loads a record of a channel. rest is the part of the key after its kind; hash is the
// record's hash.
func (p *Partition) loadInto(ci uint32, c *state.Channel, kind byte, rest []byte, hash [2]uint64, val []byte) error {
	switch kind {
	case keys.HotChannel:
		c.Hash = hash
		c.Dirty |= state.DirtyStored
		return p.decodeChannel(ci, c, val)
	case keys.HotPage:
		if len(rest) != 4 {
			return errors.New("malformed key")
		}
		page := binary.BigEndian.Uint32(rest)
		if err := p.decodePage(ci, c, page, val); err != nil {
			return err
		}
		if page == 0 {
			c.PageH = hash
			c.Dirty |= state.DirtyPage0Stored
			return nil
		}
		if c.More == 0 || int(page) > len(p.rules.MemberLists.At(c.More).Pages) {
			return fmt.Errorf("page %d without its members", page)
		}
		s := &p.rules.MemberLists.At(c.More).Pages[page-1]
		s.Hash, s.Stored = hash, true
		return nil
	case keys.HotGuest:
		r, rd := p.loadPair(ci, rest), wire.Reader{B: val}
		records.ReadRow(&rd, r, &p.rules.State)
		r.Flags |= state.RowStored
		return rd.Done()
	case keys.HotWaiting:
		rd := wire.Reader{B: val}
		p.rules.EnsurePairExtra(p.loadPair(ci, rest)).WaitingDeliveries = records.ReadEvents(&rd)
		return rd.Done()
	case keys.HotSpans:
		rd := wire.Reader{B: val}
		p.rules.EnsurePairExtra(p.loadPair(ci, rest)).Spans = records.ReadSpans(&rd)
		return rd.Done()
	case keys.HotSettings:
		rd := wire.Reader{B: val}
		records.ReadMarkers(&rd, p.rules.LoadSettings(p.loadPair(ci, rest)))
		return rd.Done()
	case keys.HotHiddenTo:
		rd := wire.Reader{B: val}
		p.rules.EnsureHidden(p.loadPair(ci, rest)).To = rd.U32()
		return rd.Done()
	case keys.HotSizes:
		rd := wire.Reader{B: val}
		p.rules.EnsureExtra(c).Sizes = records.ReadSizes(&rd)
		return rd.Done()
	case keys.HotUncounted, keys.HotDeleted, keys.HotAlls:
		if len(rest) != 2 {
			return errors.New("malformed key")
		}
		x := p.rules.EnsureExtra(c)
		set := map[byte]*seqset.Set{keys.HotUncounted: &x.Uncounted, keys.HotDeleted: &x.Deleted, keys.HotAlls: &x.Alls}[kind]
		return set.Decode(binary.BigEndian.Uint16(rest), val)
	case keys.HotQueued, keys.HotUnseen, keys.HotHidden:
		who, hi, err := keys.CutHi(rest)
		if err != nil {
			return err
		}
		r := p.loadPair(ci, who)
		set := &p.rules.EnsurePairExtra(r).Queued
		switch kind {
		case keys.HotUnseen:
			set = &p.rules.EnsureHidden(r).From
		case keys.HotHidden:
			set = &p.rules.EnsureHidden(r).Own
		}
		return set.Decode(hi, val)
	case keys.HotThread, keys.HotReplies, keys.HotBroadcasts, keys.HotThreadAlls:
		return p.loadThreadRecord(ci, kind, rest, val)
	case keys.HotFollow:
		r, err := p.loadFollower(ci, rest)
		if err != nil {
			return err
		}
		rd := wire.Reader{B: val}
		records.ReadFollow(&rd, p.rules.Follows.At(r.Scope), p.id.Settings.TrimLog)
		records.ReadRow(&rd, r, &p.rules.State)
		return rd.Done()
	}
	return p.loadScope(ci, kind, rest, val)
}

// loadScope loads the record of a user in a channel or in one of its threads.
func (p *Partition) loadScope(ci uint32, kind byte, rest, val []byte) (err error) {
	of, inThread := keys.InChannel, keys.InThread.Has(kind)
	if inThread {
		of = keys.InThread
	}
	who, hi := rest, uint16(0)
	switch kind {
	case of.Mentions, of.Singles:
		if who, hi, err = keys.CutHi(rest); err != nil {
			return err
		}
	case of.Pending, of.Open, of.ReadAll:
	default:
		return fmt.Errorf("unknown kind %q", kind)
	}
	var r *state.Row
	if !inThread {
		r = p.loadPair(ci, who)
	} else if r, err = p.loadFollower(ci, who); err != nil {
		return err
	}
	x, rd := p.rules.EnsurePairExtra(r), wire.Reader{B: val}
	switch kind {
	case of.Mentions:
		return x.Mentions.Decode(hi, val)
	case of.Singles:
		return x.Singles.Decode(hi, val)
	case of.Pending:
		return records.DecodeUnsettled(x, val)
	case of.Open:
		x.OpenReads = records.ReadEvents(&rd)
	case of.ReadAll:
		records.ReadWithThreads(&rd, p.rules.EnsureWithThreads(r))
	}
	return rd.Done()
}

// loadPair returns the row of a user in a channel, and creates it if needed.
func (p *Partition) loadPair(ci uint32, user []byte) *state.Row {
	_, r := p.rules.EnsureRow(ci, p.rules.EnsureUser(user))
	return r
}

// checkLoaded compares the loaded parts of a channel with its channel record. Without this check, a
// missing record would pass as an empty one.
func (p *Partition) checkLoaded(c *state.Channel) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("channel %q: %s", p.rules.Blobs.Get(c.ID), fmt.Sprintf(format, args...))
	}
	if c.Dirty&state.DirtyStored == 0 {
		return fail("its record is missing")
	}
	if c.Ords > state.InlineMembers && (c.More == 0 || len(p.rules.MemberLists.At(c.More).Rows) != int(c.Ords-state.InlineMembers)) {
		return fail("a page of its %d members is missing", c.Ords)
	}
	present := uint32(0)
	for ord := range c.Ords {
		ref := p.rules.MemberRow(c, ord)
		if ref == 0 {
			return fail("the record of member %d of %d is missing", ord, c.Ords)
		}
		if p.rules.Rows.At(ref).Flags&state.RowMember != 0 {
			present++
		}
	}
	uncounted := uint32(0)
	if x := p.rules.ExtraOf(c); x != nil {
		uncounted = x.Uncounted.Count()
	}
	switch {
	case present != c.Members:
		return fail("%d members are present, its record says %d", present, c.Members)
	case c.HeadSeq-uncounted != c.HeadPos:
		return fail("%d of its %d messages are not counted, its record says %d", uncounted, c.HeadSeq, c.HeadSeq-c.HeadPos)
	}
	return nil
}

// loadOlderTail completes the tail from the newest full block.
func (p *Partition) loadOlderTail(c *state.Channel) error {
	full := p.openBlock(c) - 1
	seed := p.rules.SeedOf(c)
	if full == seed {
		return nil
	}
	b, err := p.rules.Block(c, history.BlockOf(full-seed))
	if err != nil {
		return err
	}
	r := wire.Reader{B: b}
	r.Uvarint()
	for s := full - history.BlockLen + 1; s <= full && r.Err == nil; s++ {
		enc := r.Bytes()
		if r.Err == nil && c.InTail(s) {
			if err := p.loadTail(c, s, enc); err != nil {
				return err
			}
		}
	}
	return r.Done()
}
