package loading

import (
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

func (l Loader) decodeChannel(ci uint32, c *state.Channel, b []byte) error {
	r := wire.Reader{B: b}
	flags := readHead(c, &r)
	if c.Flags&state.ChannelUpdated != 0 {
		x := l.EnsureExtra(c)
		x.Archived, x.Labels = r.Byte() != 0, records.ReadLabels(&r)
		l.Customized++
	}
	if c.Flags&state.ChannelNewFormat != 0 {
		l.Customized++
	}
	if c.HeadSeq == 0 || r.Err != nil {
		return r.Done()
	}
	readTimes(c, &r)
	if c.Flags&state.ChannelSeeded != 0 {
		x := l.EnsureExtra(c)
		x.Seeded, x.SeedLog = r.U32(), c.FirstTime+int64(r.Uvarint())
		if x.Seeded == 0 || x.Seeded > c.HeadSeq {
			return fmt.Errorf("%d of its %d messages are seeded", x.Seeded, c.HeadSeq)
		}
		l.SeededChannels++
	}
	c.MaxID = l.Blobs.Put(r.Bytes())
	readDistances(c, &r)
	ending, _, err := l.ending(l.Blobs.Get(c.ID), c, flags, &r)
	if err != nil {
		return err
	}
	if l.Settings.TrimLog {
		*l.EndingOf(ci) = ending
		l.ListWaiting(ci, c)
	}
	for s := l.OpenBlock(c); s <= c.HeadSeq && r.Err == nil; s++ {
		if err := l.tail(c, s, r.Bytes()); err != nil {
			return err
		}
	}
	return r.Done()
}

// readHead reads the beginning of a channel's own record, which every channel has, and returns its flags.
func readHead(c *state.Channel, r *wire.Reader) (flags byte) {
	flags = r.Byte()
	c.Flags = flags &^ state.ChannelTrimmed
	for _, v := range [...]*uint32{&c.HeadSeq, &c.HeadPos, &c.Latest, &c.Floor, &c.Members, &c.Ords} {
		*v = r.U32()
	}
	c.LastM = int64(r.Uvarint())
	return flags
}

func readTimes(c *state.Channel, r *wire.Reader) {
	c.FirstTime, c.Time = r.Varint(), r.Varint()
	c.LogTime = c.Time + int64(r.Uvarint())
}

// readDistances reads what follows the largest id.
func readDistances(c *state.Channel, r *wire.Reader) {
	for _, v := range [...]*uint32{&c.MaxSeq, &c.Anchor, &c.Plain} {
		*v = c.HeadSeq - r.U32()
	}
	c.Run = r.Byte()
}

// tail adds a stored message to the tail.
func (l Loader) tail(c *state.Channel, seq uint32, enc []byte) error {
	var e history.Entry
	if err := e.Decode(seq, enc); err != nil {
		return fmt.Errorf("message %d: %w", seq, err)
	}
	c.Tail[seq%history.BlockLen] = l.Blobs.Put(enc)
	c.TailTag[seq%history.BlockLen] = state.TagOf(state.IDHash(e.ID))
	return nil
}

// olderTail completes the tail from the newest full block.
func (l Loader) olderTail(c *state.Channel) error {
	full := l.OpenBlock(c) - 1
	seed := l.SeedOf(c)
	if full == seed {
		return nil
	}
	b, err := l.Block(c, history.BlockOf(full-seed))
	if err != nil {
		return err
	}
	r := wire.Reader{B: b}
	r.Uvarint()
	for s := full - history.BlockLen + 1; s <= full && r.Err == nil; s++ {
		enc := r.Bytes()
		if r.Err == nil && c.InTail(s) {
			if err := l.tail(c, s, enc); err != nil {
				return err
			}
		}
	}
	return r.Done()
}

func (l Loader) page(ci uint32, c *state.Channel, page uint32, b []byte) error {
	var users [keys.PageLen]uint32
	known := l.pageUsers(ci, b, &users)
	rd := wire.Reader{B: b}
	for ord := page * keys.PageLen; len(rd.B) > 0 && rd.Err == nil; ord++ {
		id := rd.Bytes()
		if len(id) == 0 {
			return fmt.Errorf("member %d has no user id", ord)
		}
		var user uint32
		if i := ord - page*keys.PageLen; i < known {
			user = users[i]
		} else {
			user = l.EnsureUser(id)
		}
		ref, r := l.EnsureRowToJoin(ci, user)
		l.PlaceMember(c, ord, ref)
		records.ReadRow(&rd, r, &l.State)
	}
	return rd.Done()
}

// check compares the loaded parts of a channel with its channel record. Without this check, a
// missing record would pass as an empty one.
func (l Loader) check(c *state.Channel) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("channel %q: %s", l.Blobs.Get(c.ID), fmt.Sprintf(format, args...))
	}
	if c.Dirty&state.DirtyStored == 0 {
		return fail("its record is missing")
	}
	if c.Ords > state.InlineMembers && (c.More == 0 || len(l.MemberLists.At(c.More).Rows) != int(c.Ords-state.InlineMembers)) {
		return fail("a page of its %d members is missing", c.Ords)
	}
	present := uint32(0)
	for ord := range c.Ords {
		ref := l.MemberRow(c, ord)
		if ref == 0 {
			return fail("the record of member %d of %d is missing", ord, c.Ords)
		}
		if l.Rows.At(ref).Flags&state.RowMember != 0 {
			present++
		}
	}
	uncounted := uint32(0)
	if x := l.ExtraOf(c); x != nil {
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
