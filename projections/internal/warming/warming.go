// Package warming touches the memory that the fold, a drain or a cut needs next, one kind of memory
// after the other, so that the cache misses of many events, rows or channels overlap. It changes
// nothing.
//
//	events.go   for the fold
//	warming.go  for a drain and a cut
package warming

import (
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// AtOnce is how many rows or channels a drain or a cut warms at once. With more, the first ones would
// have left the processor's cache again.
const AtOnce = 64

// Due returns the elements that must be warmed before the turn of the one at i, if any.
func Due[T any](list []T, i int) []T {
	if i%AtOnce != 0 {
		return nil
	}
	return list[i:min(i+AtOnce, len(list))]
}

// Rows touches the memory of rows whose deltas are next: first row to channel, user and ids, then
// their bytes.
func Rows(p *state.State, rows []state.OutRow) {
	w := &p.Warmth
	for i := range rows {
		r := p.Rows.At(rows[i].Ref)
		w.Sum += uint64(r.Channel)
	}
	for i := range rows {
		r := p.Rows.At(rows[i].Ref)
		c := p.Channels.At(r.Channel)
		w.Sum += uint64(p.RareOf(r).LastD) + uint64(c.ID) + uint64(c.Tail[c.Latest%history.BlockLen]) + uint64(c.LastM) + uint64(p.Users.At(r.User).ShortLen)
	}
	for i := range rows {
		r := p.Rows.At(rows[i].Ref)
		c := p.Channels.At(r.Channel)
		w.Sum += uint64(p.Blobs.First(c.ID)) + uint64(p.Blobs.First(c.Tail[c.Latest%history.BlockLen])) +
			p.PeekShown(r)
	}
}

// Members touches the memory of rows of one channel whose deltas are next.
func Members(p *state.State, rows []uint32) {
	w := &p.Warmth
	for _, ref := range rows {
		w.Sum += uint64(p.Rows.At(ref).User)
	}
	for _, ref := range rows {
		r := p.Rows.At(ref)
		w.Sum += uint64(p.RareOf(r).LastD) + uint64(p.Users.At(r.User).ShortLen) + p.PeekShown(r)
	}
}

// Channels touches the memory of channels whose records are next.
func Channels(p *state.State, channels []uint32) {
	w := &p.Warmth
	for _, ci := range channels {
		c := p.Channels.At(ci)
		w.Sum += uint64(c.ID) + uint64(c.Tail[c.Latest%history.BlockLen]) + uint64(c.LastM)
	}
	for _, ci := range channels {
		c := p.Channels.At(ci)
		w.Sum += uint64(p.Blobs.First(c.ID)) + uint64(p.Blobs.First(c.Tail[c.Latest%history.BlockLen]))
	}
}

// Page touches the rows of the members with ordinals [from, to), and their users.
func Page(p *state.State, c *state.Channel, from, to uint32) {
	w := &p.Warmth
	for ord := from; ord < to; ord++ {
		w.Sum += uint64(p.Rows.At(p.MemberRow(c, ord)).User)
	}
	for ord := from; ord < to; ord++ {
		r := p.Rows.At(p.MemberRow(c, ord))
		w.Sum += uint64(p.Users.At(r.User).ShortLen) + uint64(p.RareOf(r).Extra)
	}
}

// Receipts touches the memory of channels whose receipts are next, and that of the first AtOnce
// receipts of each. due has those of the first channel from index from on.
func Receipts(p *state.State, channels []receipts.Group, due []receipts.Due, from uint32) {
	w := &p.Warmth
	each := func(touch func(c *state.Channel, due []receipts.Due)) {
		at := from
		for _, g := range channels {
			touch(p.Channels.At(g.Channel), due[at:min(g.End, at+AtOnce)])
			at = g.End
		}
	}
	each(func(c *state.Channel, due []receipts.Due) {
		w.Sum += uint64(c.ID)
		for i := range due {
			w.Sum += uint64(c.Tail[due[i].Seq%history.BlockLen]) + uint64(p.Users.At(due[i].User).ShortLen)
		}
	})
	each(func(c *state.Channel, due []receipts.Due) {
		w.Sum += uint64(p.Blobs.First(c.ID))
		for i := range due {
			w.Sum += uint64(p.Blobs.First(c.Tail[due[i].Seq%history.BlockLen]))
		}
	})
}
