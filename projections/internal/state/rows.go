package state

import (
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/seqset"
)

// NoOrdinal marks the row of a user who never joined: it is stored on its own, by user id.
const NoOrdinal = ^uint32(0)

// Channel is the hot state of one channel. It has no pointers. It fills four cache lines; what a
// read needs is in the first, but for the message that it names, and what a message needs in the
// first three.
type Channel struct {
	ID               uint32 // blob
	HeadSeq          uint32
	Extra            uint32                   // index into exts, 0 = none
	NewestReceipt    uint32                   // newest of its advances, see NewestReceiptEntry
	ReceiptSlot      uint32                   // index into the channels with advances, while it has advances
	NewestOutReceipt uint32                   // newest of its State.OutReceipts, 0 = none
	Members          uint32                   // present members
	Flags            uint8                    // ChannelDeleted and others
	Pending          uint8                    // what the next Drain has to look at
	Dirty            uint8                    // what the next Cut has to write
	Run              uint8                    // messages in a row, up to the head, whose ids grew; RunPlain at most
	TailTag          [history.BlockLen]uint16 // first 16 bits of the id's hash, at seq % BlockLen

	Tail [history.BlockLen]uint32 // blob of the entry, at seq % BlockLen

	HeadPos   uint32
	Latest    uint32 // seq of the newest live counted message, 0 = none
	MaxID     uint32 // blob: the largest id posted, byte by byte
	MaxSeq    uint32 // its message
	Anchor    uint32 // the message that had the largest id when the first of the open log block had been posted
	Plain     uint32 // newest message without an index entry of its own, see index.go
	Floor     uint32 // seqs up to here are purged
	More      uint32 // index into MemberLists, 0 = none
	FirstTime int64  // time of the oldest message
	Time      int64  // time of the head message, or MinTime
	LogTime   int64  // log time at the head message
	LastM     int64  // offset + 1 of the channel's last record in chat.messages

	Ords       uint32 // ordinals given: users who ever joined
	Rows       uint32 // list of all its rows, through Row.NextRow
	first      [InlineMembers]uint32
	Hash       [2]uint64 // of the stored channel record
	PageH      [2]uint64 // of the stored page 0
	Expired    uint32    // blocks of receipts that are gone for their age: not state, a memory
	ExpireFull uint32    // newest message of the full block that expired was found for
}

// InlineMembers is how many members a channel has in its own memory.
const InlineMembers = 4

// Channel.Flags
const (
	ChannelDeleted = 1 << iota
	ChannelLarge
	ChannelReposted  // an id was posted again after the index had forgotten it
	ChannelSeeded    // it begins with messages that nobody wrote, see seeded.go
	ChannelUpdated   // channel_updated has said something that stands
	ChannelNewFormat // see NeedsNewFormat
)

// Channel.Pending
const (
	OutRecordChanged  = 1 << iota // the record of tidemark.channels changed
	OutMembersChanged             // what every member sees changed
	OutListed                     // the channel is in State.OutChannels
	OutOpenChanged                // what open time targets reach changed, in a small channel
	OutUpdated                    // its labels changed, or whether it is archived: with OutRecordChanged
)

// Channel.Dirty
const (
	DirtyChannel = 1 << iota
	DirtyPage0
	dirtyListed // the channel is in State.DirtyChannels
	DirtyStored // a channel record is stored
	DirtyPage0Stored
)

// Row is the hot state of one user in one channel. Without exceptions it is all there is to say
// about the pair.
type Row struct {
	Channel, User uint32
	Ord           uint32
	NextUser      uint32 // next row of the same user
	NextRow       uint32 // next row of the same channel
	Pointer       uint32 // where reads and marks put the pointer; own posts are apart
	Baseline      uint32 // of the join: older messages never count
	OwnFloor      uint32 // own posts up to here do not lift the pointer: a mark came after them
	LastOwn       uint32 // newest own post that counts
	Marks         uint32
	Extra         uint32 // index of its PairExtra, 0 = none
	LastSeq       uint32 // seq whose message id is in LastID: not state, a memory of the last delta
	LastID        uint32
	FirstSeq      uint32
	FirstID       uint32
	OutRow        uint32 // index + 1 in State.OutRows, 0 = not listed
	Scope         uint32 // of a thread: its follow; else the first of the follows of the pair
	Public        uint32 // furthest public read that is closed
	Far           uint32 // the furthest that any effective closed read ever reached
	Flags         uint8
	PublicAt      int64 // earliest time of a read up to public
	At            int64 // when Pointer was put there
	Event         int64 // which record did: offset<<1 | 1 if of chat.messages
	OwnAt         int64 // time of LastOwn
	LastR         int64 // offset + 1 of the user's last record in chat.reads
	LastD         int64 // offset + 1 of the user's last record in chat.deliveries
}

// Row.Flags
const (
	RowMember = 1 << iota
	RowMuted
	RowStored  // guests: a record is stored
	RowChanged // what the pair sees has changed
	RowCheck   // emit only if the view differs from the last one emitted
	RowThread  // the scope is a thread
)

// User is one user id, known to this partition. It fills a cache line, so that ids of usual length
// are compared and stored with a single miss.
type User struct {
	Murmur   uint32 // murmur2 of the id
	First    uint32 // list of rows, through Row.NextUser
	Long     uint32 // blob of an id that does not fit into short
	ShortLen uint8  // bytes of the id in short, 0 = it is long
	short    [shortID]byte
}

const shortID = 51

// ChannelExtra holds what few channels have: sets of seqs, and the reads that wait for the
// timeline.
type ChannelExtra struct {
	Uncounted seqset.Set // silent messages and replies that are not broadcast
	Deleted   seqset.Set // counted messages that were deleted
	Alls      seqset.Set // live counted messages that mention all
	Wait      Waiters
	Threads   uint32 // first of the channel's threads, through Thread.Next
	Seeded    uint32 // see seeded.go
	SeedLog   int64  // log time at messages_seeded
	Sizes     []uint32
	Queuers   []uint32 // rows that may have queued messages, while the channel is large: not state
	Latest    TimeOf   // of Channel.Latest, while that is not the head

	SizesDirty bool

	Labels   []string // of channel_updated, ascending
	Archived bool     // for everybody

	Mention *Named // of a user without a PairExtra
}

// PairExtra holds what few pairs have.
type PairExtra struct {
	// What every count looks at comes first, so that it is in few cache lines.
	Unsettled         []PendingEvent
	Floors            []FloorSpec
	Read              *OwnPost       // the newest own post that reads, where setting and LastOwn do not tell it
	WithThreads       *WithThreads   // nil for nothing
	Hidden            *Hidden        // nil for nothing
	OpenReads         []PendingEvent // reads that may become receipts, or move row.far, and are open
	WaitingDeliveries []PendingEvent // deliveries that wait for their message
	Mentions          seqset.Set     // live counted messages that mention the user by id
	Singles           seqset.Set     // read singly, above Pointer

	Own       []uint32 // own posts above OwnFrom, ascending, if OwnKept: not state, a memory of the log
	OwnFrom   uint32
	OwnKept   bool
	LastSeen  uint64       // hash of the view last emitted, while something is held
	Queued    seqset.Set   // messages that were queued for the user, above all that they ever read
	Spans     []Membership // where the row does not say it all
	Said      *Said        // what RowMuted does not say; nil for nothing
	SaidDirty bool         // its own record is out of date
	Mention   *Named       // the first mention of the last delta
}

// Named is a message with its id: not state, a memory of a delta.
type Named struct {
	Seq uint32
	ID  []byte
}

// Empty reports whether there is nothing to say.
func (x *PairExtra) Empty() bool {
	return len(x.Unsettled)+len(x.Floors)+len(x.OpenReads)+len(x.WaitingDeliveries)+len(x.Spans) == 0 &&
		x.Mentions.Empty() && x.Singles.Empty() && x.Queued.Empty() && !x.OwnKept && x.Said == nil && !x.SaidDirty && x.Read == nil &&
		x.Hidden.Empty() && x.WithThreads.Empty()
}

// MinTime is before all times.
const MinTime = -1 << 63
