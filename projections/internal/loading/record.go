package loading

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// into loads a record of a channel. rest is the part of the key after its kind; hash is the
// record's hash.
func (l Loader) into(ci uint32, c *state.Channel, kind byte, rest []byte, hash [2]uint64, val []byte) error {
	switch kind {
	case keys.HotChannel:
		c.Hash = hash
		c.Dirty |= state.DirtyStored
		return l.decodeChannel(ci, c, val)
	case keys.HotPage:
		if len(rest) != 4 {
			return errors.New("malformed key")
		}
		page := binary.BigEndian.Uint32(rest)
		if err := l.page(ci, c, page, val); err != nil {
			return err
		}
		if page == 0 {
			c.PageH = hash
			c.Dirty |= state.DirtyPage0Stored
			return nil
		}
		if c.More == 0 || int(page) > len(l.MemberLists.At(c.More).Pages()) {
			return fmt.Errorf("page %d without its members", page)
		}
		s := &l.MemberLists.At(c.More).Pages()[page-1]
		s.Hash, s.Stored = hash, true
		return nil
	case keys.HotGuest:
		r, rd := l.pair(ci, rest), wire.Reader{B: val}
		records.ReadRow(&rd, r, &l.State)
		r.Flags |= state.RowStored
		return rd.Done()
	case keys.HotWaiting:
		rd := wire.Reader{B: val}
		l.EnsurePairExtra(l.pair(ci, rest)).WaitingDeliveries = records.ReadEvents(&rd)
		return rd.Done()
	case keys.HotSpans:
		rd := wire.Reader{B: val}
		l.EnsurePairExtra(l.pair(ci, rest)).Spans = records.ReadSpans(&rd)
		return rd.Done()
	case keys.HotSettings:
		rd := wire.Reader{B: val}
		records.ReadMarkers(&rd, l.LoadSettings(l.pair(ci, rest)))
		return rd.Done()
	case keys.HotHiddenTo:
		rd := wire.Reader{B: val}
		l.EnsureHidden(l.pair(ci, rest)).To = rd.U32()
		return rd.Done()
	case keys.HotSizes:
		rd := wire.Reader{B: val}
		l.EnsureExtra(c).Sizes = records.ReadSizes(&rd)
		return rd.Done()
	case keys.HotUncounted, keys.HotDeleted, keys.HotAlls:
		if len(rest) != 2 {
			return errors.New("malformed key")
		}
		x := l.EnsureExtra(c)
		set := map[byte]*seqset.Set{keys.HotUncounted: &x.Uncounted, keys.HotDeleted: &x.Deleted, keys.HotAlls: &x.Alls}[kind]
		return set.Decode(binary.BigEndian.Uint16(rest), val)
	case keys.HotQueued, keys.HotUnseen, keys.HotHidden:
		who, hi, err := keys.CutHi(rest)
		if err != nil {
			return err
		}
		r := l.pair(ci, who)
		set := &l.EnsurePairExtra(r).Queued
		switch kind {
		case keys.HotUnseen:
			set = &l.EnsureHidden(r).From
		case keys.HotHidden:
			set = &l.EnsureHidden(r).Own
		}
		return set.Decode(hi, val)
	case keys.HotThread, keys.HotReplies, keys.HotBroadcasts, keys.HotThreadAlls:
		return l.threadRecord(ci, kind, rest, val)
	case keys.HotFollow:
		r, err := l.follower(ci, rest)
		if err != nil {
			return err
		}
		rd := wire.Reader{B: val}
		records.ReadFollow(&rd, l.FollowOf(r), l.Settings.TrimLog)
		records.ReadRow(&rd, r, &l.State)
		return rd.Done()
	}
	return l.scope(ci, kind, rest, val)
}

// scope loads the record of a user in a channel or in one of its threads.
func (l Loader) scope(ci uint32, kind byte, rest, val []byte) (err error) {
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
		r = l.pair(ci, who)
	} else if r, err = l.follower(ci, who); err != nil {
		return err
	}
	x, rd := l.EnsurePairExtra(r), wire.Reader{B: val}
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
		records.ReadWithThreads(&rd, l.EnsureWithThreads(r))
	}
	return rd.Done()
}

// pair returns the row of a user in a channel, and creates it if needed.
func (l Loader) pair(ci uint32, user []byte) *state.Row {
	_, r := l.EnsureRow(ci, l.EnsureUser(user))
	return r
}
