package views

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// ReceiptsView lists who received and read a message (DESIGN §4.5, GetReceipts). The counts include
// all recipients.
type ReceiptsView struct {
	ChannelID, MessageID string

	Seq        uint32
	SenderID   string
	Recipients uint32 // members when it was posted, without its sender
	Delivered  uint32
	Read       uint32
	Viewed     uint32
	List       []Receipt // a page of the recipients, ordered by their first join
	Next       uint32    // the from of the next page; 0 = there is none
}

// Receipts returns a page of at most limit recipients of a message, from 0 on or from the Next of
// the previous page. It returns false if the message is unknown or purged, or if its id has left
// the index. It costs as much as BeginReceipts and End. Err has the error of a corrupt store. The
// caller holds RLock, and the store must not be closed meanwhile.
func (p *Queries) Receipts(channelID, messageID string, from uint32, limit int) (ReceiptsView, bool) {
	w, ok := p.BeginReceipts(channelID, messageID, from, NewReceiptsMemory(limit))
	if !ok {
		return ReceiptsView{}, false
	}
	v, _ := w.End(context.Background()) // Err has the error
	return v, true
}

// ReceiptsMemory is the memory for a page of recipients, and for one bit for each member of a
// channel. Like ViewMemory, it is allocated before the lock is taken.
type ReceiptsMemory struct {
	listed []recipient
	users  []byte // their ids, one after the other; recipient.ends has the end of each
	sets   []uint64
}

// receiptsCrowd is the number of members of the largest channel so far whose receipts were queried.
// NewReceiptsMemory allocates sets of that size.
var receiptsCrowd atomic.Uint32

// NewReceiptsMemory allocates the memory for a page of at most limit recipients.
func NewReceiptsMemory(limit int) *ReceiptsMemory {
	const idBytes = 24
	return &ReceiptsMemory{
		listed: make([]recipient, 0, limit), users: make([]byte, 0, limit*idBytes),
		sets: make([]uint64, receiptSets*pagesOf(min(receiptsCrowd.Load(), maxCrowd))),
	}
}

const (
	// receiptSets is how many sets of members one answer uses: asked, unsure, read, got, sure and
	// viewed.
	receiptSets = 6
	// maxCrowd is the largest number of members that is allocated in advance. Larger sets are made
	// under the lock.
	maxCrowd = 1 << 17
)

// pagesOf returns the number of pages for this many members.
func pagesOf(members uint32) uint32 { return (members + keys.PageLen - 1) / keys.PageLen }

// BeginReceipts is the part of Receipts that reads memory: each member's row, and each receipt of
// the channel since the last cut. room determines the length of the page. It must be followed by
// one call of End, after RLock is released; End reads the store. The answer is of the position at
// which BeginReceipts was called. The caller holds RLock.
func (p *Queries) BeginReceipts(channelID, messageID string, from uint32, mem *ReceiptsMemory) (*ReceiptsWalk, bool) {
	ci, c, ok := p.rules.KnownChannel(channelID)
	if !ok {
		return nil, false
	}
	e, ok := p.named(c, []byte(messageID))
	if !ok || e.Seq <= c.Floor {
		return nil, false
	}
	w := &ReceiptsWalk{
		v:      ReceiptsView{ChannelID: channelID, MessageID: messageID, Seq: e.Seq, SenderID: string(e.Sender)},
		p:      p,
		memory: mem,
		at:     e.Time,
		head:   c.HeadSeq,
		small:  p.rules.IsSmall(c, e.Seq), old: p.rules.MessageTime-e.Time > receipts.Kept,
	}
	w.views = w.small && !w.old && c.Flags&state.ChannelNewFormat != 0
	if e.Flags&(history.Reply|history.Broadcast) == history.Reply {
		w.inThread, w.thread = true, p.rules.ThreadOf(ci, e.Thread)
		if w.thread != 0 {
			w.threadID = bytes.Clone(e.Thread)
		}
	}
	w.members(c, p.rules.UserOf(e.Sender), from)
	if w.asked != nil {
		p.rules.EachReceiptEntry(ci, c, w.take)
		w.hold(c)
	}
	return w, true
}

// ReceiptsWalk is an answer of Receipts in progress.
type ReceiptsWalk struct {
	v        ReceiptsView
	p        *Queries
	memory   *ReceiptsMemory
	at       int64 // time of the message
	head     uint32
	small    bool // deliveries are stored
	old      bool // times are no longer stored
	views    bool // some recipient may have viewed the message
	inThread bool
	thread   uint32 // 0 also if nothing else names the message's thread
	threadID []byte

	listed []recipient // by ord
	// Sets of members, one bit each, by pages. For recipients who are not listed only the counts
	// matter, and a row that has read the message is enough for those. unsure has the recipients
	// whose row has not. asked has the listed recipients and all others whose blocks must be read;
	// read and got have the results for unsure ones. All sets are nil if no block must be read.
	asked, unsure, read, got []uint64
	// sure has unlisted recipients who have read the message by their row and may have viewed it;
	// viewed has the results.
	sure, viewed []uint64

	m   *moment
	log *channelLog
	err error
}

// members goes through the rows of all who ever joined.
func (w *ReceiptsWalk) members(c *state.Channel, sender, from uint32) {
	p, v := w.p, &w.v
	w.listed = w.memory.listed[:0]
	for ord := range c.Ords {
		pair := p.rules.Rows.At(p.rules.MemberRow(c, ord))
		if pair.User == sender || p.rules.Erased(pair) || !p.rules.MemberAt(pair, v.Seq) || p.rules.IsHiddenFrom(pair, v.Seq) {
			continue
		}
		v.Recipients++
		listed := ord >= from && len(w.listed) < cap(w.memory.listed)
		if ord >= from && !listed && v.Next == 0 {
			v.Next = ord
		}
		x := recipient{ord: ord}
		if r := w.scopeRow(pair); r != nil {
			far, farAt, open := p.rules.Furthest(c, r, v.Seq)
			own, _ := p.rules.LastOwn(r)
			x.read.is = far >= v.Seq || own > v.Seq
			if own > v.Seq {
				x.own = own
			}
			if far >= v.Seq && open && !w.old {
				x.read.note(max(farAt, w.at))
			}
		}
		if w.inThread {
			far, at, open := p.rules.FurthestWithThreads(c, pair, v.Seq)
			x.read.is = x.read.is || far >= v.Seq
			if open && !w.old {
				x.read.note(max(at, w.at))
			}
		}
		switch {
		case listed:
			w.memory.users = append(w.memory.users, p.rules.UserID(pair.User)...)
			x.ends = len(w.memory.users)
			w.listed = append(w.listed, x)
		case x.read.is:
			v.Read++
			v.Delivered++
		}
		switch {
		case w.old:
		case listed:
			w.ask(c, ord, nil)
		case !x.read.is:
			w.ask(c, ord, func() []uint64 { return w.unsure })
		case w.views:
			w.ask(c, ord, func() []uint64 { return w.sure })
		}
	}
}

// ask adds a member whose row does not determine the answer to asked, and an unlisted one to the
// set among as well.
func (w *ReceiptsWalk) ask(c *state.Channel, ord uint32, among func() []uint64) {
	if w.asked == nil {
		n := pagesOf(c.Ords)
		all := w.memory.sets
		if uint32(len(all)) < receiptSets*n {
			all = make([]uint64, receiptSets*n)
		}
		if c.Ords > receiptsCrowd.Load() {
			receiptsCrowd.Store(c.Ords) // if two calls race, either value is good
		}
		all = all[:receiptSets*n]
		w.asked, w.unsure, w.read, w.got = all[:n], all[n:2*n], all[2*n:3*n], all[3*n:4*n]
		w.sure, w.viewed = all[4*n:5*n], all[5*n:]
	}
	page, bit := ord/keys.PageLen, uint64(1)<<(ord%keys.PageLen)
	w.asked[page] |= bit
	if among != nil {
		among()[page] |= bit
	}
}

// scopeRow returns the row in the message's scope of the user with this row in the channel, or nil.
func (w *ReceiptsWalk) scopeRow(pair *state.Row) *state.Row {
	if !w.inThread {
		return pair
	}
	if w.thread != 0 {
		if ref := w.p.rules.ThreadRowOf(w.thread, pair.User); ref != 0 {
			return w.p.rules.Rows.At(ref)
		}
	}
	return nil
}
