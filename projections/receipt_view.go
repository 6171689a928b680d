package projections

import (
	"bytes"
	"fmt"
	"slices"
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

// Reader is how far a member read publicly; the zero Ref if nowhere.
type Reader struct {
	UserID  string
	Message Ref
	At      int64 // Unix milliseconds; meaningful only if Message.Seq > 0
}

// ReadersView is the read state of a room (DESIGN §9, GetReaders): a page of its members, in the order in which they first
// joined. Next is as in ReceiptsView.
type ReadersView struct {
	List []Reader
	Next uint32
}

// Receipts says who received and read a message: a page of at most limit recipients, from 0 on or from the Next of the
// page before. It reports false where there is no such message: unknown, purged, or its id has left the index. Its cost
// is that of a look at each member's row, and for the page that of reading the blocks from the message on. The error of a
// corrupt store is Err. RLock is held.
func (p *Partition) Receipts(channelID, messageID string, from uint32, limit int) (ReceiptsView, bool) {
	ci, c, ok := p.known(channelID)
	if !ok {
		return ReceiptsView{}, false
	}
	e, ok := p.named(c, []byte(messageID))
	if !ok || e.seq <= c.floor {
		return ReceiptsView{}, false
	}
	v := ReceiptsView{ChannelID: channelID, MessageID: messageID, Seq: e.seq, SenderID: string(e.sender)}
	q := receiptQuery{p: p, c: c, e: &e, small: p.isSmall(c, e.seq), old: p.logTime-e.time > receiptsKept, page: ^uint32(0)}
	if e.flags&(entReply|entBroadcast) == entReply {
		q.thread, q.inThread = p.threadOf(ci, e.thread), true
	}
	q.pend()
	sender := p.userOf(e.sender)
	for ord := range c.ords {
		r := p.rows.at(p.member(c, ord))
		if r.user == sender || r.erased() || !p.memberAt(r, e.seq) {
			continue
		}
		v.Recipients++
		listed := ord >= from && len(v.List) < limit
		if ord >= from && !listed && v.Next == 0 {
			v.Next = ord
		}
		x := q.receipt(ord, r, listed)
		if x.Read {
			v.Read++
		}
		if x.Delivered {
			v.Delivered++
		}
		if listed {
			x.UserID = string(p.userID(r.user))
			v.List = append(v.List, x)
		}
	}
	return v, true
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

// receiptQuery is a question about one message.
type receiptQuery struct {
	p        *Partition
	c        *channel
	e        *entry
	thread   uint32
	inThread bool
	small    bool      // deliveries are kept
	old      bool      // times are not told any more
	pending  []advance // that say anything of the message, page by page
	ends     []uint32  // of each page's part of pending
	page     uint32    // of which entries are
	entries  []advance // of the page, that say anything of the message
	single   bool      // entries has the message's own block only
}

// receipt answers for one recipient. The times are told only if they are asked for: counts need no more than the row, and
// where that does not answer the message's own block.
func (q *receiptQuery) receipt(ord uint32, pair *row, times bool) (x Receipt) {
	p, c, e := q.p, q.c, q.e
	r := q.scopeRow(pair)
	var (
		far, own uint32
		farAt    int64
		open     bool
	)
	if r != nil {
		far, farAt, open = p.furthest(c, r)
		own = p.ownLast(r)
	}
	x.Read = far >= e.seq || own > e.seq
	if q.old {
		x.Delivered = x.Read
		return x
	}
	if !times && x.Read {
		x.Delivered = true
		return x
	}
	if times || q.small {
		q.load(ord/pageLen, false)
	} else {
		q.load(ord/pageLen, true)
	}
	note := func(is *bool, to *int64, at int64) {
		if at = max(at, e.time); !*is || *to == 0 || at < *to {
			*to = at
		}
		*is = true
	}
	if far >= e.seq && open {
		note(&x.Read, &x.ReadAt, farAt)
	}
	delivered := int64(0)
	got := false
	for i := range q.entries {
		a := &q.entries[i]
		if a.ord != ord {
			continue
		}
		switch a.kind {
		case entryRead, entrySingle:
			if a.thread == q.thread && q.inThread == (q.thread != 0) {
				note(&x.Read, &x.ReadAt, a.at)
			}
		default:
			if q.small {
				note(&got, &delivered, a.at)
			}
		}
	}
	if own > e.seq {
		if o := p.firstOwnAfter(c, r, e.seq); o != 0 {
			oe := p.entryAt(c, o)
			note(&x.Read, &x.ReadAt, oe.time)
		}
	}
	x.Delivered, x.DeliveredAt = x.Read, x.ReadAt
	if got && (!x.Read || delivered < x.ReadAt) {
		x.Delivered, x.DeliveredAt = true, delivered
	}
	return x
}

// scopeRow is the row of the message's scope for the user with this row in the channel; nil if there is none.
func (q *receiptQuery) scopeRow(pair *row) *row {
	if !q.inThread {
		return pair
	}
	if q.thread != 0 {
		if ref := q.p.threadRowOf(q.thread, pair.user); ref != 0 {
			return q.p.rows.at(ref)
		}
	}
	return nil
}

// load reads the entries of a page of members that say anything of the message: of its own block, and unless single is
// enough, of all blocks after it.
func (q *receiptQuery) load(page uint32, single bool) {
	if q.page == page && (single || !q.single) {
		return
	}
	q.page, q.single, q.entries = page, single, q.entries[:0]
	first, last := (q.e.seq-1)/receiptBlock, (q.c.headSeq-1)/receiptBlock
	if single {
		last = first
	}
	for b := first; b <= last; b++ {
		q.loadBlock(b, page, 0)
		if q.thread != 0 {
			q.loadBlock(b, page, q.thread)
		}
	}
	q.entries = slices.DeleteFunc(q.entries, func(a advance) bool { return !q.says(&a) })
	if int(page) < len(q.ends) {
		from := uint32(0)
		if page > 0 {
			from = q.ends[page-1]
		}
		q.entries = append(q.entries, q.pending[from:q.ends[page]]...)
	}
}

// says reports whether an entry says anything of the message.
func (q *receiptQuery) says(a *advance) bool {
	return a.seq == q.e.seq || (a.seq > q.e.seq && (a.kind == entryRead || a.kind == entryDeliveredTo))
}

// pend collects what no block has yet, so that each page of members finds its own: a cut may have everything that a
// large channel read in a minute before it.
func (q *receiptQuery) pend() {
	n := uint32(0)
	q.p.eachAdvance(q.c, func(a *advance) {
		if !q.says(a) {
			return
		}
		page := int(a.ord / pageLen)
		if page >= len(q.ends) {
			q.ends = append(q.ends, make([]uint32, page+1-len(q.ends))...)
		}
		q.ends[page]++
		n++
	})
	at := uint32(0)
	for i, n := range q.ends {
		q.ends[i], at = at, at+n
	}
	q.pending = make([]advance, n)
	q.p.eachAdvance(q.c, func(a *advance) {
		if q.says(a) {
			end := &q.ends[a.ord/pageLen]
			q.pending[*end] = *a
			*end++
		}
	})
}

func (q *receiptQuery) loadBlock(block, page, thread uint32) {
	a := advance{ord: page * pageLen, seq: block*receiptBlock + 1, thread: thread}
	var kb [keyBuf]byte
	key := q.p.receiptKey(kb[:0], q.c, &a)
	v, ok, err := q.p.get(key)
	if err == nil && ok {
		q.entries, err = appendBlock(q.entries, v, block, page, thread)
	}
	if err != nil {
		q.p.corrupt(fmt.Errorf("receipts of channel %q, record %q: %w", q.p.blobs.get(q.c.id), key, err))
	}
}

// firstOwnAfter is the user's first own post after seq in the row's scope, 0 if there is none.
func (p *Partition) firstOwnAfter(c *channel, r *row, seq uint32) (first uint32) {
	for s := r.lastOwn; s > seq; {
		first = s
		e := p.entryAt(c, s)
		s = e.previous(r)
	}
	return first
}

// Readers is a page of a channel's members with how far each read publicly, own posts included; false as in View. RLock is
// held.
func (p *Partition) Readers(channelID string, from uint32, limit int) (v ReadersView, ok bool) {
	_, c, ok := p.known(channelID)
	if !ok {
		return v, false
	}
	for ord := from; ord < c.ords; ord++ {
		r := p.rows.at(p.member(c, ord))
		if r.flags&rowMember == 0 || r.erased() {
			continue
		}
		if len(v.List) == limit {
			v.Next = ord
			break
		}
		x := Reader{UserID: string(p.userID(r.user))}
		seq, at, _ := p.furthest(c, r)
		if own := p.ownLast(r); own > 0 && own >= seq {
			seq, at = own, r.ownAt
		}
		if seq > 0 {
			x.Message, x.At = Ref{p.messageID(c, seq), seq}, at
		}
		v.List = append(v.List, x)
	}
	return v, true
}
