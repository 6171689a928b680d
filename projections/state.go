package projections

import (
	"bytes"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/events"
)

// tailLen is the number of a channel's newest messages held in memory; their id, sender and preview are kept whatever
// their age (DESIGN §4.6). It is also the number of messages in a log block.
const tailLen = 16

// pageLen is the number of members, in the order of their first join, that are stored in one record.
const pageLen = 64

// noOrdinal marks the row of a user who never joined: it is stored on its own, by user id.
const noOrdinal = ^uint32(0)

// channel is the hot state of one channel. It has no pointers. It fills four cache lines; what a read needs is in the first,
// but for the message that it names, and what a message needs in the first three.
type channel struct {
	id       uint32 // blob
	headSeq  uint32
	ext      uint32          // index into exts, 0 = none
	advances uint32          // newest of its Partition.advances, 0 = none
	advanced uint32          // index into Partition.advanced, while it has advances
	receipts uint32          // newest of its Partition.outReceipts, 0 = none
	members  uint32          // present members
	flags    uint8           // chDeleted and others
	pending  uint8           // what the next Drain has to look at
	dirty    uint8           // what the next Cut has to write
	run      uint8           // messages in a row, up to the head, whose ids grew; runPlain at most
	tailTag  [tailLen]uint16 // first 16 bits of the id's hash, at seq % tailLen

	tail [tailLen]uint32 // blob of the entry, at seq % tailLen

	headPos   uint32
	latest    uint32 // seq of the newest live counted message, 0 = none
	maxID     uint32 // blob: the largest id posted, byte by byte
	maxSeq    uint32 // its message
	anchor    uint32 // the message that had the largest id when the first of the open log block had been posted
	plain     uint32 // newest message without an index entry of its own, see index.go
	floor     uint32 // seqs up to here are purged
	more      uint32 // index into memberLists, 0 = none
	firstTime int64  // time of the oldest message
	time      int64  // time of the head message, or minTime
	logTime   int64  // log time at the head message
	lastM     int64  // offset + 1 of the channel's last record in chat.messages

	ords       uint32 // ordinals given: users who ever joined
	rows       uint32 // list of all its rows, through row.nextRow
	first      [inlineMembers]uint32
	hash       [2]uint64 // of the stored channel record
	pageH      [2]uint64 // of the stored page 0
	expired    uint32    // blocks of receipts that are gone for their age: not state, a memory
	expireFull uint32    // newest message of the full block that expired was found for
}

const inlineMembers = 4

// channel.flags
const (
	chDeleted = 1 << iota
	chLarge
	chReposted // an id was posted again after the index had forgotten it
)

// channel.pending
const (
	outRecord  = 1 << iota // the record of tidemark.channels changed
	outMembers             // what every member sees changed
	outListed              // the channel is in Partition.outChans
)

// channel.dirty
const (
	dirtyChannel = 1 << iota
	dirtyPage0
	dirtyListed // the channel is in Partition.dirtyChans
	dirtyStored // a channel record is stored
	dirtyPage0Stored
)

// memberList holds what a channel of more than inlineMembers members needs besides.
type memberList struct {
	rows    []uint32
	pages   []pageState // page 1 and up; page 0 is in the channel
	present []uint32    // rows of present members, while present is kept
	kept    bool
}

type pageState struct {
	hash   [2]uint64
	dirty  bool
	stored bool
}

// row is the hot state of one user in one channel. Without exceptions it is all there is to say about the pair.
type row struct {
	ch, user uint32
	ord      uint32
	nextUser uint32 // next row of the same user
	nextRow  uint32 // next row of the same channel
	ptr      uint32 // where reads and marks put the pointer; own posts are apart
	base     uint32 // join baseline
	floorH   uint32 // own posts up to here do not lift the pointer: a mark came after them
	lastOwn  uint32 // newest own post that counts
	marks    uint32
	exc      uint32 // index into excs, 0 = none
	lastSeq  uint32 // seq whose message id is in lastID: not state, a memory of the last delta
	lastID   uint32
	firstSeq uint32
	firstID  uint32
	out      uint32 // index + 1 in Partition.outRows, 0 = not listed
	scope    uint32 // of a thread: its follow; else the first of the follows of the pair
	public   uint32 // furthest public read that is closed
	far      uint32 // the furthest that any effective closed read ever reached
	flags    uint8
	publicAt int64 // earliest time of a read up to public
	at       int64 // when ptr was put there
	ev       int64 // which record did: offset<<1 | 1 if of chat.messages
	ownAt    int64 // time of lastOwn
	lastR    int64 // offset + 1 of the user's last record in chat.reads
	lastD    int64 // offset + 1 of the user's last record in chat.deliveries
}

// row.flags
const (
	rowMember = 1 << iota
	rowMuted
	rowStored  // guests: a record is stored
	rowChanged // what the pair sees has changed
	rowCheck   // emit only if the view differs from the last one emitted
	rowThread  // the scope is a thread
)

// userState is one user id, known to this partition. It fills a cache line, so that ids of usual length are compared and
// stored with a single miss.
type userState struct {
	part  uint32 // murmur2 of the id
	first uint32 // list of rows, through row.nextUser
	long  uint32 // blob of an id that does not fit into short
	n     uint8  // bytes of the id in short, 0 = it is long
	short [shortID]byte
}

const shortID = 51

// ext holds what few channels have: sets of seqs, and the reads that wait for the timeline.
type ext struct {
	uncounted seqset // silent messages and replies that are not broadcast
	deleted   seqset // counted messages that were deleted
	alls      seqset // live counted messages that mention all
	wait      waiters
	threads   uint32 // first of the channel's threads, through thread.next
	sizes     []uint32
	queuers   []uint32 // rows that may have queued messages, while the channel is large: not state

	sizesDirty bool
}

// exc holds what few pairs have.
type exc struct {
	mentions seqset // live counted messages that mention the user by id
	singles  seqset // read singly, above ptr
	held     []held
	floors   []floorSpec
	own      []uint32 // own posts above ownFrom, ascending, if ownKept: not state, a memory of the log
	ownFrom  uint32
	ownKept  bool
	seen     uint64 // hash of the view last emitted, while something is held

	open    []held       // reads that may become receipts, or move row.far, and are open
	waiting []held       // deliveries that wait for their message
	queued  seqset       // messages that were queued for the user, above all that he ever read
	spans   []membership // where the row does not say it all
}

// empty reports whether there is nothing to say.
func (x *exc) empty() bool {
	return len(x.held)+len(x.floors)+len(x.open)+len(x.waiting)+len(x.spans) == 0 &&
		x.mentions.empty() && x.singles.empty() && x.queued.empty() && !x.ownKept
}

const minTime = -1 << 63

func idHash(id []byte) uint64 { return mix(xxh3.Hash(id)) }

// channelOf returns the channel's index, 0 if it is not known.
func (p *Partition) channelOf(id []byte) uint32 {
	return p.chanTab.find(idHash(id), func(ref uint32) bool { return bytes.Equal(p.blobs.get(p.chans.at(ref).id), id) })
}

func (p *Partition) ensureChannel(id []byte) (uint32, *channel) {
	if i := p.channelOf(id); i != 0 {
		return i, p.chans.at(i)
	}
	i := p.chans.alloc()
	c := p.chans.at(i)
	c.id = p.blobs.put(id)
	c.time, c.logTime = minTime, minTime
	if p.settings.FanoutLimit == 0 {
		c.flags |= chLarge
	}
	p.chanTab.insert(idHash(id), i)
	return i, c
}

// userID is the id of a user. It must not be changed, and stays valid.
func (p *Partition) userID(ref uint32) []byte {
	u := p.users.at(ref)
	if u.n == 0 {
		return p.blobs.get(u.long)
	}
	return u.short[:u.n:u.n]
}

func (p *Partition) userOf(id []byte) uint32 {
	return p.userTab.find(idHash(id), func(ref uint32) bool { return bytes.Equal(p.userID(ref), id) })
}

func (p *Partition) ensureUser(id []byte) uint32 {
	if i := p.userOf(id); i != 0 {
		return i
	}
	i := p.users.alloc()
	u := p.users.at(i)
	if len(id) <= shortID {
		u.n = uint8(copy(u.short[:], id))
	} else {
		u.long = p.blobs.put(id)
	}
	u.part = events.Murmur2(id) & 0x7fffffff
	p.userTab.insert(idHash(id), i)
	return i
}

// rowOf returns the row of a pair, 0 if it has none.
func (p *Partition) rowOf(ch, user uint32) uint32 {
	return p.pairTab.find(pairHash(ch, user), func(ref uint32) bool {
		r := p.rows.at(ref)
		return r.ch == ch && r.user == user && r.flags&rowThread == 0
	})
}

// ensureRow returns the pair's row, made as that of a user who never joined.
func (p *Partition) ensureRow(ch, user uint32) (uint32, *row) {
	if i := p.rowOf(ch, user); i != 0 {
		return i, p.rows.at(i)
	}
	i := p.rows.alloc()
	r := p.rows.at(i)
	r.ch, r.user, r.ord = ch, user, noOrdinal
	u := p.users.at(user)
	r.nextUser, u.first = u.first, i
	c := p.chans.at(ch)
	r.nextRow, c.rows = c.rows, i
	p.pairTab.insert(pairHash(ch, user), i)
	return i, r
}

// giveOrdinal makes a member of a row, on the user's first join.
func (p *Partition) giveOrdinal(c *channel, i uint32) {
	r := p.rows.at(i)
	r.ord = c.ords
	p.setMember(c, r.ord, i)
	c.ords++
}

func (p *Partition) setMember(c *channel, ord, ref uint32) {
	if ord < inlineMembers {
		c.first[ord] = ref
		return
	}
	if c.more == 0 {
		p.memberLists = append(p.memberLists, &memberList{})
		c.more = uint32(len(p.memberLists) - 1)
	}
	l := p.memberLists[c.more]
	k := int(ord - inlineMembers)
	for len(l.rows) <= k {
		l.rows = append(l.rows, 0)
	}
	l.rows[k] = ref
	for int(ord/pageLen) > len(l.pages) {
		l.pages = append(l.pages, pageState{})
	}
}

// member returns the row with ordinal ord; the user may have left.
func (p *Partition) member(c *channel, ord uint32) uint32 {
	if ord < inlineMembers {
		return c.first[ord]
	}
	return p.memberLists[c.more].rows[ord-inlineMembers]
}

// eachMember calls fn for every present member. Its cost is proportional to the present members, not to those who ever
// joined.
func (p *Partition) eachMember(c *channel, fn func(ref uint32, r *row)) {
	if c.more == 0 {
		for ord := range c.ords {
			if r := p.rows.at(c.first[ord]); r.flags&rowMember != 0 {
				fn(c.first[ord], r)
			}
		}
		return
	}
	l := p.memberLists[c.more]
	if !l.kept {
		l.present = l.present[:0]
		for ord := range c.ords {
			if ref := p.member(c, ord); p.rows.at(ref).flags&rowMember != 0 {
				l.present = append(l.present, ref)
			}
		}
		l.kept = true
	}
	for _, ref := range l.present {
		fn(ref, p.rows.at(ref))
	}
}

// memberChanged keeps the list of present members. Large channels do without: nobody goes through their members, and
// a leaver would cost a search.
func (p *Partition) memberChanged(c *channel, ref uint32, joined bool) {
	if c.more == 0 {
		return
	}
	l := p.memberLists[c.more]
	switch {
	case !l.kept:
	case c.flags&chLarge != 0:
		l.kept, l.present = false, nil
	case joined:
		l.present = append(l.present, ref)
	default:
		if i := slices.Index(l.present, ref); i >= 0 {
			l.present = slices.Delete(l.present, i, i+1)
		}
	}
}

func (p *Partition) extOf(c *channel) *ext {
	if c.ext == 0 {
		return nil
	}
	return p.exts[c.ext]
}

func (p *Partition) ensureExt(c *channel) *ext {
	if c.ext == 0 {
		p.exts = append(p.exts, &ext{})
		c.ext = uint32(len(p.exts) - 1)
	}
	return p.exts[c.ext]
}

func (p *Partition) excOf(r *row) *exc {
	if r.exc == 0 {
		return nil
	}
	return p.excs[r.exc]
}

func (p *Partition) ensureExc(r *row) *exc {
	switch n := len(p.freeExcs); {
	case r.exc != 0:
	case n > 0:
		r.exc, p.freeExcs = p.freeExcs[n-1], p.freeExcs[:n-1]
		p.excs[r.exc] = &exc{}
	default:
		p.excs = append(p.excs, &exc{})
		r.exc = uint32(len(p.excs) - 1)
	}
	return p.excs[r.exc]
}

// touchChannel marks the channel record as out of date.
func (p *Partition) touchChannel(i uint32, c *channel) {
	c.dirty |= dirtyChannel
	p.listDirty(i, c)
}

// firstTouch gives a record to a channel of which chat.messages has said nothing yet.
func (p *Partition) firstTouch(i uint32, c *channel) {
	if c.dirty&dirtyStored == 0 {
		p.touchChannel(i, c)
	}
}

func (p *Partition) listDirty(i uint32, c *channel) {
	if c.dirty&dirtyListed == 0 {
		c.dirty |= dirtyListed
		p.dirtyChans = append(p.dirtyChans, i)
		p.dirtyBytes += 400
	}
}

// touchRow marks the record that holds the row as out of date.
func (p *Partition) touchRow(i uint32, r *row) {
	c := p.chans.at(r.ch)
	switch {
	case r.flags&rowThread != 0:
		if _, known := p.dirtyFollows[i]; !known {
			p.dirtyFollows[i] = struct{}{}
			p.dirtyBytes += 64
		}
	case r.ord == noOrdinal:
		if _, known := p.dirtyGuests[i]; !known {
			p.dirtyGuests[i] = struct{}{}
			p.dirtyBytes += 64
		}
	case r.ord < pageLen:
		if c.dirty&dirtyPage0 == 0 {
			c.dirty |= dirtyPage0
			p.dirtyBytes += 1600
		}
		p.listDirty(r.ch, c)
	default:
		pg := &p.memberLists[c.more].pages[r.ord/pageLen-1]
		if !pg.dirty {
			pg.dirty = true
			p.dirtyBytes += 1600
		}
		p.listDirty(r.ch, c)
	}
}
