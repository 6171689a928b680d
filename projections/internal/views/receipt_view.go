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

// ReceiptsView is who received and read a message (DESIGN §4.5, GetReceipts). The counts are over
// all recipients.
type ReceiptsView struct {
	ChannelID, MessageID string

	Seq        uint32
	SenderID   string
	Recipients uint32 // members when it was posted, without its sender
	Delivered  uint32
	Read       uint32
	Viewed     uint32
	List       []Receipt // a page of the recipients, in the order in which they first joined
	Next       uint32    // from, of the next page; 0 = there is none
}

// Receipts says who received and read a message: a page of at most limit recipients, from 0 on or
// from the Next of the page before. It reports false where there is no such message: unknown,
// purged, or its id has left the index. Its cost is that of BeginReceipts and End. The error of a
// corrupt store is Err. RLock is held, and the store is not closed meanwhile.
func (p *Queries) Receipts(channelID, messageID string, from uint32, limit int) (ReceiptsView, bool) {
	w, ok := p.BeginReceipts(channelID, messageID, from, NewReceiptsRoom(limit))
	if !ok {
		return ReceiptsView{}, false
	}
	v, _ := w.End(context.Background()) // the error is Err's
	return v, true
}

// ReceiptsRoom is memory for a page of recipients, and for a bit for each member of a channel. It
// is made before the lock is taken, as ViewRoom is.
type ReceiptsRoom struct {
	listed []recipient
	users  []byte // their ids, one after the other; each recipient knows where its own ends
	sets   []uint64
}

// receiptsCrowd is how many members the largest channel had, of those that were asked for: there is
// room for their sets.
var receiptsCrowd atomic.Uint32

// NewReceiptsRoom makes room for a page of at most limit recipients.
func NewReceiptsRoom(limit int) *ReceiptsRoom {
	const idBytes = 24
	return &ReceiptsRoom{
		listed: make([]recipient, 0, limit), users: make([]byte, 0, limit*idBytes),
		sets: make([]uint64, receiptSets*pagesOf(min(receiptsCrowd.Load(), maxCrowd))),
	}
}

const (
	// receiptSets is how many sets of members an answer takes: asked, unsure, read, got, sure and
	// viewed.
	receiptSets = 6
	// maxCrowd is up to how many members there is room for in advance. The sets of more are made
	// under the lock.
	maxCrowd = 1 << 17
)

// pagesOf is how many pages so many members take.
func pagesOf(members uint32) uint32 { return (members + keys.PageLen - 1) / keys.PageLen }

// BeginReceipts is the part of Receipts that looks at memory: a look at each member's row, and at
// each receipt of the channel since the last cut. room says how long the page is. What is stored is
// read by End, which must be called, once, when RLock is not held any more; its answer is of the
// position at which this was called. RLock is held.
func (p *Queries) BeginReceipts(channelID, messageID string, from uint32, room *ReceiptsRoom) (*ReceiptsWalk, bool) {
	ci, c, ok := p.rules.KnownChannel(channelID)
	if !ok {
		return nil, false
	}
	e, ok := p.named(c, []byte(messageID))
	if !ok || e.Seq <= c.Floor {
		return nil, false
	}
	w := &ReceiptsWalk{
		v:     ReceiptsView{ChannelID: channelID, MessageID: messageID, Seq: e.Seq, SenderID: string(e.Sender)},
		p:     p,
		room:  room,
		at:    e.Time,
		head:  c.HeadSeq,
		small: p.rules.IsSmall(c, e.Seq), old: p.rules.MessageTime-e.Time > receipts.Kept,
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

// ReceiptsWalk is an answer of Receipts that is not complete.
type ReceiptsWalk struct {
	v        ReceiptsView
	p        *Queries
	room     *ReceiptsRoom
	at       int64 // time of the message
	head     uint32
	small    bool // deliveries are kept
	old      bool // times are not told any more
	views    bool // somebody may have viewed the message
	inThread bool
	thread   uint32 // 0 also where nothing else names the thread of the message
	threadID []byte

	listed []recipient // by ord
	// Of the others, whose times nobody asked for, counts need no more than the row where that says
	// that they have read the message. Where it does not they are unsure. Members are a bit each,
	// by pages; asked has those who are listed and those who are unsure, read and got what was
	// found of the latter. There are none if nobody is in doubt.
	asked, unsure, read, got []uint64
	// Who has read the message by their row, and is not listed, is asked whether they viewed it.
	sure, viewed []uint64

	m   *moment
	log *channelLog
	err error
}

// members looks at the rows of all who ever joined.
func (w *ReceiptsWalk) members(c *state.Channel, sender, from uint32) {
	p, v := w.p, &w.v
	w.listed = w.room.listed[:0]
	for ord := range c.Ords {
		pair := p.rules.Rows.At(p.rules.MemberRow(c, ord))
		if pair.User == sender || pair.Erased() || !p.rules.MemberAt(pair, v.Seq) || p.rules.IsHiddenFrom(pair, v.Seq) {
			continue
		}
		v.Recipients++
		listed := ord >= from && len(w.listed) < cap(w.room.listed)
		if ord >= from && !listed && v.Next == 0 {
			v.Next = ord
		}
		x := recipient{ord: ord}
		if r := w.scopeRow(pair); r != nil {
			far, farAt, open := p.rules.Furthest(c, r)
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
			far, at, open := p.rules.FurthestWithThreads(c, pair)
			x.read.is = x.read.is || far >= v.Seq
			if open && !w.old {
				x.read.note(max(at, w.at))
			}
		}
		switch {
		case listed:
			w.room.users = append(w.room.users, p.rules.UserID(pair.User)...)
			x.ends = len(w.room.users)
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

// ask notes that a member's row does not say all there is to know; who is not listed is in a set of
// those.
func (w *ReceiptsWalk) ask(c *state.Channel, ord uint32, among func() []uint64) {
	if w.asked == nil {
		n := pagesOf(c.Ords)
		all := w.room.sets
		if uint32(len(all)) < receiptSets*n {
			all = make([]uint64, receiptSets*n)
		}
		if c.Ords > receiptsCrowd.Load() {
			receiptsCrowd.Store(c.Ords) // of two at a time either will do
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

// scopeRow is the row of the message's scope for the user with this row in the channel; nil if
// there is none.
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
