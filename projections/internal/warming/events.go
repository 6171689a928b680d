package warming

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Events touches the memory that folding these events will need. Folding is bound by cache misses,
// each depending on the last: id to channel to row to message. Events takes each step for all events
// before the next step, so that the misses of one step overlap. It changes nothing and may be left
// out. The caller passes the events that it folds next, a few hundred at a time:
// more would push the first ones out of the cache again. Events remembers what it finds by hash.
// Reads are folded in this order, and each verifies that the remembered pair is its own.
func Events(p *state.State, messages []*events.Message, reads []*events.Read) {
	if p.Rows.Unused() {
		return // the state is empty: not even element 0 of the slabs exists
	}
	w := &p.Warmth
	w.Begin(len(messages))
	for _, m := range messages {
		w.Pairs = append(w.Pairs, state.WarmPair{ChannelHash: state.IDHash(m.ChannelID), UserHash: state.IDHash(m.SenderID)})
	}
	for _, m := range reads {
		w.Pairs = append(w.Pairs, state.WarmPair{ChannelHash: state.IDHash(m.ChannelID), UserHash: state.IDHash(m.UserID)})
	}
	pairs, sum := w.Pairs, uint64(0)
	for i := range pairs {
		sum += p.ChannelTable.Peek(pairs[i].ChannelHash) + p.UserTable.Peek(pairs[i].UserHash)
	}
	for i := range pairs {
		x := &pairs[i]
		x.Channel, x.User = p.ChannelTable.First(x.ChannelHash), p.UserTable.First(x.UserHash)
		x.PairHash = arena.PairHash(x.Channel, x.User)
	}
	for i := range pairs {
		x := &pairs[i]
		sum += p.PairTable.Peek(x.PairHash) + uint64(p.Channels.At(x.Channel).ID) + uint64(p.Users.At(x.User).ShortLen)
	}
	for i := range pairs {
		x := &pairs[i]
		x.Row = p.PairTable.First(x.PairHash)
	}
	for i := range pairs {
		r := p.Rows.At(pairs[i].Row)
		sum += uint64(r.Channel) + uint64(r.NextUser) // most rows are in two cache lines
	}
	for i := range pairs {
		sum += uint64(p.RareOf(p.Rows.At(pairs[i].Row)).LastD)
	}
	for i := range pairs {
		c := p.Channels.At(pairs[i].Channel)
		sum += uint64(c.Tail[c.HeadSeq%history.BlockLen])
		if i < len(messages) {
			sum += uint64(c.MaxID)
		} else if int(c.ReceiptSlot) < len(p.ReceiptChannels) {
			sum += uint64(p.ReceiptChannels[c.ReceiptSlot].Channel)
		}
	}
	for i := range pairs {
		c := p.Channels.At(pairs[i].Channel)
		sum += uint64(p.Blobs.First(c.ID)) + uint64(p.Blobs.First(c.Tail[c.HeadSeq%history.BlockLen]))
		if i < len(messages) { // the largest id, and the entry that leaves the tail
			sum += uint64(p.Blobs.First(c.MaxID)) + uint64(p.Blobs.First(c.Tail[(c.HeadSeq+1)%history.BlockLen]))
		}
	}
	w.Sum = sum
}
