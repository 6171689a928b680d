package projections

// tailLen is the number of a channel's newest messages held in memory; their id, sender and preview are kept whatever
// their age (DESIGN §4.6). It is also the number of messages in a log block.
const tailLen = 16

// noOrdinal marks the row of a user who never joined: it is stored on its own, by user id.
const noOrdinal = ^uint32(0)

// channel is the hot state of one channel. It has no pointers. It fills four cache lines; what a read needs is in the
// first, but for the message that it names, and what a message needs in the first three.
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
