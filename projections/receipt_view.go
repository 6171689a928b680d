package projections

import (
	"bytes"
	"context"
)

// Receipt is what is known of one recipient of a message. A time is in Unix milliseconds and 0 where it is not told:
// times are kept for 90 days of log time.
type Receipt struct {
	UserID      string
	Delivered   bool // also if read
	Read        bool
	DeliveredAt int64
	ReadAt      int64
}

// ReceiptsView is who received and read a message (DESIGN §4.5, GetReceipts). The counts are over all recipients.
type ReceiptsView struct {
	ChannelID, MessageID string

	Seq        uint32
	SenderID   string
	Recipients uint32 // members when it was posted, without its sender
	Delivered  uint32
	Read       uint32
	List       []Receipt // a page of the recipients, in the order in which they first joined
	Next       uint32    // from, of the next page; 0 = there is none
}

// Receipts says who received and read a message: a page of at most limit recipients, from 0 on or from the Next of the
// page before. It reports false where there is no such message: unknown, purged, or its id has left the index. Its cost
// is that of BeginReceipts and End. The error of a corrupt store is Err. RLock is held, and the store is not closed meanwhile.
func (p *Partition) Receipts(channelID, messageID string, from uint32, limit int) (ReceiptsView, bool) {
	w, ok := p.BeginReceipts(channelID, messageID, from, limit)
	if !ok {
		return ReceiptsView{}, false
	}
	v, _ := w.End(context.Background()) // the error is Err's
	return v, true
}

// BeginReceipts is the part of Receipts that looks at memory: a look at each member's row, and at each receipt of the
// channel since the last cut. What is stored is read by End, which must be called, once, when RLock is not held any more;
// its answer is of the position at which this was called. RLock is held.
func (p *Partition) BeginReceipts(channelID, messageID string, from uint32, limit int) (*ReceiptsWalk, bool) {
	ci, c, ok := p.known(channelID)
	if !ok {
		return nil, false
	}
	e, ok := p.named(c, []byte(messageID))
	if !ok || e.seq <= c.floor {
		return nil, false
	}
	w := &ReceiptsWalk{
		v:     ReceiptsView{ChannelID: channelID, MessageID: messageID, Seq: e.seq, SenderID: string(e.sender)},
		p:     p,
		at:    e.time,
		head:  c.headSeq,
		small: p.isSmall(c, e.seq), old: p.logTime-e.time > receiptsKept,
	}
	if e.flags&(entReply|entBroadcast) == entReply {
		w.inThread, w.thread = true, p.threadOf(ci, e.thread)
		if w.thread != 0 {
			w.threadID = bytes.Clone(e.thread)
		}
	}
	w.members(c, p.userOf(e.sender), from, limit)
	if w.asked != nil {
		p.eachAdvance(c, w.take)
		w.hold(c)
	}
	return w, true
}

// named finds the message that a query names: the oldest with this id that has not left the index, else the newest of
// those that are kept whatever their age.
func (p *Partition) named(c *channel, id []byte) (entry, bool) {
	if x, ok := p.lookup(c, id, idHash(id), p.logTime); ok {
		return p.entryAt(c, x.seq), true
	}
	for s := c.headSeq; c.inTail(s); s-- {
		if e := p.entryAt(c, s); bytes.Equal(e.id, id) {
			return e, true
		}
	}
	return entry{}, false
}

// ReceiptsWalk is an answer of Receipts that is not complete.
type ReceiptsWalk struct {
	v        ReceiptsView
	p        *Partition
	at       int64 // time of the message
	head     uint32
	small    bool // deliveries are kept
	old      bool // times are not told any more
	inThread bool
	thread   uint32 // 0 also where nothing else names the thread of the message
	threadID []byte

	listed []recipient // by ord
	// Of the others, whose times nobody asked for, counts need no more than the row where that says that they have read
	// the message. Where it does not they are unsure. Members are a bit each, by pages; asked has those who are listed and
	// those who are unsure, read and got what was found of the latter. There are none if nobody is in doubt.
	asked, unsure, read, got []uint64

	m   *moment
	log *channelLog
	err error
}

// recipient is one whose times are told.
type recipient struct {
	id  string
	ord uint32
	own uint32 // his newest own post in the message's scope, if it is beyond the message; 0 = none

	read, got told
}

// told is whether something was said, and the earliest time that was told of it.
type told struct {
	is, timed bool
	at        int64
}

func (t *told) note(at int64) {
	if !t.timed || at < t.at {
		t.at = at
	}
	t.is, t.timed = true, true
}

// members looks at the rows of all who ever joined.
func (w *ReceiptsWalk) members(c *channel, sender, from uint32, limit int) {
	p, v := w.p, &w.v
	for ord := range c.ords {
		pair := p.rows.at(p.member(c, ord))
		if pair.user == sender || pair.erased() || !p.memberAt(pair, v.Seq) {
			continue
		}
		v.Recipients++
		listed := ord >= from && len(w.listed) < limit
		if ord >= from && !listed && v.Next == 0 {
			v.Next = ord
		}
		x := recipient{ord: ord}
		if r := w.scopeRow(pair); r != nil {
			far, farAt, open := p.furthest(c, r)
			own := p.ownLast(r)
			x.read.is = far >= v.Seq || own > v.Seq
			if own > v.Seq {
				x.own = own
			}
			if far >= v.Seq && open && !w.old {
				x.read.note(max(farAt, w.at))
			}
		}
		switch {
		case listed:
			x.id = string(p.userID(pair.user))
			w.listed = append(w.listed, x)
		case x.read.is:
			v.Read++
			v.Delivered++
		}
		if !w.old && (listed || !x.read.is) {
			w.ask(c, ord, !listed)
		}
	}
}

// ask notes that a member's row does not say all there is to know of him; who is not listed is unsure.
func (w *ReceiptsWalk) ask(c *channel, ord uint32, unsure bool) {
	if w.asked == nil {
		n := (c.ords + pageLen - 1) / pageLen
		all := make([]uint64, 4*n)
		w.asked, w.unsure, w.read, w.got = all[:n], all[n:2*n], all[2*n:3*n], all[3*n:]
	}
	page, bit := ord/pageLen, uint64(1)<<(ord%pageLen)
	w.asked[page] |= bit
	if unsure {
		w.unsure[page] |= bit
	}
}

// scopeRow is the row of the message's scope for the user with this row in the channel; nil if there is none.
func (w *ReceiptsWalk) scopeRow(pair *row) *row {
	if !w.inThread {
		return pair
	}
	if w.thread != 0 {
		if ref := w.p.threadRowOf(w.thread, pair.user); ref != 0 {
			return w.p.rows.at(ref)
		}
	}
	return nil
}

// take notes what an entry says of the message, in any order.
func (w *ReceiptsWalk) take(a *advance) {
	page, bit := a.ord/pageLen, uint64(1)<<(a.ord%pageLen)
	read := a.kind == entryRead || a.kind == entrySingle
	switch {
	case int(page) >= len(w.asked) || w.asked[page]&bit == 0:
	case a.seq < w.v.Seq || (a.seq > w.v.Seq && a.kind != entryRead && a.kind != entryDeliveredTo):
	case read && (a.thread != w.thread || w.inThread != (w.thread != 0)):
	case !read && !w.small:
	case w.unsure[page]&bit == 0:
		if x, at := w.recipient(a.ord), max(a.at, w.at); read {
			x.read.note(at)
		} else {
			x.got.note(at)
		}
	case read:
		w.read[page] |= bit
	default:
		w.got[page] |= bit
	}
}
