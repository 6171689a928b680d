package rules

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/pending"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Receipts (DESIGN §4.5) are history. A public read records that its user had read up to a message,
// or one message, at a time. Marks and epochs affect only the user's own pointer, so receipts are
// kept apart from the suffix of held events. A row keeps the furthest public read. Blocks in the
// store keep the rest, one entry for each read, so that readers find when a user read a message
// behind the pointer (receipt_store.go).
//
// A read that names a message that does not exist yet is open until the timeline decides it.
// Receipts have their own list of open reads, because the suffix may drop a read earlier, which is
// right only for the own pointer.

// maxOpen is how many of a user's reads may be open in a scope, and how many of their deliveries
// may wait in a channel. It is the limit on held events (DESIGN §4.3), applied to each of these
// lists.
const maxOpen = pending.MaxUnsettled

// track applies the uses of a read: receipts, the furthest read ever, and threads. h is resolved.
// ok is false, and nothing happens, if too many reads are open already. threads reports whether the
// read moves threads further.
func (p *Fold) track(ref uint32, c *state.Channel, r *state.Row, h *held.Event, use uint8) (ok, threads bool) {
	if p.Erased(r) {
		use &= held.ForThreads
	}
	if use == 0 {
		return true, false
	}
	before := uint32(0)
	if use&held.ForThreads != 0 {
		before = p.ThreadsReached(c, r)
	}
	if h.Closed {
		if threads = p.receive(ref, c, r, h, use); threads {
			p.threadsRead(c, r, before)
		}
		return true, threads
	}
	x := p.EnsurePairExtra(r)
	if len(x.OpenReads) >= maxOpen {
		return false, false
	}
	k := *h
	k.Use, k.ID = use, slices.Clone(h.ID)
	x.OpenReads = append(x.OpenReads, k)
	p.awaitEvent(&p.EnsureExtra(c).Wait, &k, ref)
	p.TouchPairExtra(ref, r)
	if h.By != held.ByTime || c.HeadSeq == 0 {
		return true, false
	}
	if use&held.ForThreads != 0 {
		p.threadsRead(c, r, before)
		threads = true
	}
	if use&held.ForOthers != 0 && p.KeepsReach(h.Time, h.Now) { // others never hear of a read that is taken back
		p.newReceipt(ref, c, r, readReceipt(use), c.HeadSeq, h.At)
	}
	return true, threads
}

// readReceipt returns the kind of a read's receipt.
func readReceipt(use uint8) uint8 {
	if use&held.ForThreads != 0 {
		return receipts.OutWithThreads
	}
	return receipts.OutRead
}

// receive applies a read whose target is final, and reports whether it moves threads further.
func (p *Fold) receive(ref uint32, c *state.Channel, r *state.Row, h *held.Event, use uint8) (threads bool) {
	if h.Seq == 0 {
		return false // the read is up to a time before all messages
	}
	switch h.Kind {
	case held.KindHidden:
		p.hideFound(ref, c, r, h.Seq)
		return false
	case held.KindViewed:
		p.view(ref, c, r, h)
		return false
	}
	if h.Kind == held.KindSingle {
		if use&held.ForOthers != 0 {
			p.note(c, r, receipts.Entry{Seq: h.Seq, At: h.At, Kind: receipts.Single})
		}
		return false
	}
	published, _ := p.Public(r)
	if use&held.ForThreads != 0 {
		if x := p.ExtraOfPair(r); x == nil || x.WithThreads == nil {
			published = 0
		} else {
			published = x.WithThreads.Public
		}
		threads = p.readThreads(ref, r, h, use&held.ForOthers != 0)
	}
	if use&held.ForFar != 0 && h.Seq > p.Far(r) {
		p.raiseFar(ref, c, r, h.Seq)
	}
	if use&held.ForOthers == 0 {
		return threads
	}
	p.note(c, r, receipts.Entry{Seq: h.Seq, At: h.At, Kind: receipts.Read})
	if use&held.ForThreads != 0 {
		p.note(c, r, receipts.Entry{Seq: h.Seq, At: h.At, Kind: receipts.WithThreads})
	}
	if h.Seq > published {
		p.newReceipt(ref, c, r, readReceipt(use), h.Seq, h.At)
	}
	if to, at := p.Public(r); h.Seq > to || h.Seq == to && h.At < at {
		x := p.EnsureRare(r)
		x.Public, x.PublicAt = h.Seq, h.At
		p.TouchRow(ref, r)
	}
	return threads
}

// raiseFar records that the user read further than ever. Messages queued up to there no longer
// count as queued.
func (p *Fold) raiseFar(ref uint32, c *state.Channel, r *state.Row, seq uint32) {
	p.EnsureRare(r).Far = seq
	p.TouchRow(ref, r)
	x := p.ExtraOfPair(r)
	if x == nil || x.Queued.Empty() {
		return
	}
	s := p.ScopeOf(c, r)
	before := p.OfflineUnread(c, r, &s)
	p.dropQueued(ref, r)
	if r.Flags&state.RowMember != 0 && p.OfflineUnread(c, r, &s) != before {
		p.PairChanged(ref)
	}
}

// SettleOpen closes the pair's open reads and waiting deliveries that the timeline has decided.
func (p *Fold) SettleOpen(ref uint32) {
	r := p.Rows.At(ref)
	x := p.ExtraOfPair(r)
	if x == nil || len(x.OpenReads)+len(x.WaitingDeliveries) == 0 {
		return
	}
	c := p.Channels.At(r.Channel)
	n := len(x.OpenReads) + len(x.WaitingDeliveries)
	threads, before := forThreadsIn(x.OpenReads), uint32(0)
	if threads > 0 {
		before = p.ThreadsReached(c, r)
	}
	x.OpenReads = p.settleList(ref, c, r, x.OpenReads, func(h *held.Event) {
		if h.By == held.ByTime && h.Use&held.ForFar != 0 && h.Seq+1 < c.HeadSeq { // back to the end of a block
			p.PairMayHaveChanged(ref)
		}
		p.receive(ref, c, r, h, h.Use)
	})
	x.WaitingDeliveries = p.settleList(ref, c, r, x.WaitingDeliveries, func(h *held.Event) { p.deliver(ref, c, r, h) })
	if len(x.OpenReads)+len(x.WaitingDeliveries) != n {
		p.TouchPairExtra(ref, r)
	}
	if threads != forThreadsIn(x.OpenReads) {
		p.threadsRead(c, r, before)
	}
}

// forThreadsIn returns how many of some open reads are with_threads.
func forThreadsIn(open []held.Event) (n int) {
	for i := range open {
		if open[i].Use&held.ForThreads != 0 {
			n++
		}
	}
	return n
}

// settleList passes closed events to take and returns those that are still open. Lapsed events are
// in neither.
func (p *Fold) settleList(ref uint32, c *state.Channel, r *state.Row, list []held.Event, take func(h *held.Event)) []held.Event {
	n := len(list)
	var closed []held.Event
	keep := list[:0]
	for i := range list {
		h := &list[i]
		switch {
		case !p.ResolvePending(ref, c, r, h):
		case h.Closed:
			closed = append(closed, *h)
		default:
			keep = append(keep, *h)
		}
	}
	clear(list[len(keep):n])
	for i := range closed {
		take(&closed[i])
	}
	if len(keep) == 0 {
		return nil
	}
	return keep
}

// Furthest returns how far the row's user has read publicly, own posts excluded, and when. With a
// message past, open reports whether open time targets reach it, and then at is the earliest of
// their times.
func (p *Fold) Furthest(c *state.Channel, r *state.Row, past uint32) (seq uint32, at int64, open bool) {
	seq, at = p.Public(r)
	to, earliest, open := p.OpenTo(c, p.ExtraOfPair(r), held.ForOthers, past)
	switch {
	case !open || to == 0:
	case past != 0:
		seq, at = max(seq, to), earliest
	case to > seq:
		seq, at = to, earliest
	case to == seq:
		at = min(at, earliest)
	}
	return seq, at, open
}

// GatherDue is receipts.GatherDue for what is to be published now.
func (p *Fold) GatherDue(dst []receipts.Due, spend func(work int)) []receipts.Due {
	hash := func(user uint32) uint32 { return p.Users.At(user).Murmur }
	return receipts.GatherDue(arena.Trimmed(dst), p.OutReceipts, p.OutReceiptChannels, p.OutErased, hash, spend)
}
