package state

import (
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/seqset"
)

// NoOrdinal marks the row of a user who never joined. Such a row has a record of its own, by user
// id.
const NoOrdinal = ^uint32(0)

// Channel is the hot state of one channel. It has no pointers and fills four cache lines. A read
// needs only the first line, besides the message that it names; a message needs the first three.
type Channel struct {
	ID            uint32 // the id's blob
	HeadSeq       uint32
	Extra         uint32                   // index in State.ChannelExtras, 0 = none
	NewestReceipt uint32                   // its newest advance, see NewestReceiptEntry
	ReceiptSlot   uint32                   // index in State.ReceiptChannels, while the channel has advances
	OutReceipts   uint32                   // index in State.OutReceiptChannels plus 1, while the channel has receipts to publish
	Members       uint32                   // present members
	Flags         uint8                    // ChannelDeleted and others
	Pending       uint8                    // marks for the next Drain
	Dirty         uint8                    // marks for the next Cut
	Run           uint8                    // consecutive messages up to the head whose ids grew, at most RunPlain
	TailTag       [history.BlockLen]uint16 // first 16 bits of the id's hash, at seq % BlockLen

	Tail [history.BlockLen]uint32 // blob of the entry, at seq % BlockLen

	HeadPos   uint32
	Latest    uint32 // seq of the newest live counted message, 0 = none
	MaxID     uint32 // blob: the largest id posted, byte by byte
	MaxSeq    uint32 // the message with MaxID
	Anchor    uint32 // the message that had the largest id when the first message of the open log block was posted
	Plain     uint32 // newest message without an index entry of its own, see index.go
	Floor     uint32 // seqs up to here are purged
	More      uint32 // index in MemberLists, 0 = none
	FirstTime int64  // time of the oldest message
	Time      int64  // time of the head message, or MinTime
	LogTime   int64  // log time at the head message
	LastM     int64  // offset + 1 of the channel's last record in chat.messages

	Ords       uint32 // ordinals given: users who ever joined
	Others     uint32 // index in State.OtherRows, 0 = none
	first      [InlineMembers]uint32
	Hash       [2]uint64 // hash of the stored channel record
	PageH      [2]uint64 // hash of the stored page 0
	Expired    uint32    // number of expired blocks of receipts: a cache, not state
	ExpireFull uint32    // newest message of the full block that Expired was computed for: a cache
}

// InlineMembers is how many members a channel stores without a MemberList.
const InlineMembers = 4

// Bits of Channel.Flags.
const (
	ChannelDeleted = 1 << iota
	ChannelLarge
	ChannelReposted  // an id was posted again after the index had forgotten it
	ChannelSeeded    // the channel begins with seeded messages, see seeded.go
	ChannelUpdated   // a channel_updated is in effect
	ChannelNewFormat // see NeedsNewFormat
)

// Bits of Channel.Pending.
const (
	OutRecordChanged  = 1 << iota // the record of tidemark.channels changed
	OutMembersChanged             // the views of all members changed
	OutListed                     // the channel is in State.OutChannels
	OutOpenChanged                // the reach of open time targets changed, in a small channel
	OutUpdated                    // its labels or its archiving changed; only with OutRecordChanged
)

// Bits of Channel.Dirty.
const (
	DirtyChannel = 1 << iota
	DirtyPage0
	DirtyListed // the channel is in State.DirtyChannels
	DirtyStored // a channel record is stored
	DirtyPage0Stored
	ChannelUsed // an event has named the channel since the last look for channels to leave
)

// Row is the hot state of one user in one channel. It is smaller than a cache line, because memory is
// mostly rows. What few pairs have is in a Rare.
type Row struct {
	Channel, User uint32
	Pointer       uint32 // the pointer by reads and marks, without own posts; set by Move or Place
	eventLow      uint32 // Event has 56 bits
	eventMid      uint16
	eventTop      uint8
	Flags         uint8
	atLow         uint32 // At has 48 bits
	atHigh        uint16
	ownAtHigh     uint16
	ownAtLow      uint32 // OwnAt has 48 bits
	LastOwn       uint32 // newest own counted post; set by SetOwn
	Rare          uint32 // index in State.Rares, 0 = none: see RareOf
	shown         uint32 // with RowListed the index in State.OutRows, otherwise what the last delta named, see shown.go
	place         uint32 // see Ord
	Baseline      uint32 // baseline of the join: older messages never count
	NextUser      uint32 // next row of the same user
}

// Bits of Row.Flags.
const (
	RowMember = 1 << iota
	RowMuted
	RowStored     // guests: the store has a record
	RowChanged    // the user's view has changed
	RowCheck      // emit only if the view differs from the last one emitted
	RowThread     // the row's scope is a thread
	RowColdListed // the user's list in State.Cold has the channel
	RowListed     // the row is in State.OutRows
)

// User is one user id. It fills a cache line, so that comparing and storing ids of usual length
// causes a single cache miss.
type User struct {
	Murmur   uint32 // murmur2 of the id
	First    uint32 // list of rows, through Row.NextUser
	Long     uint32 // blob of an id that does not fit into short, 0 = none
	ShortLen uint8  // length of the id in short, 0 = the id is in Long
	short    [shortID]byte
}

const shortID = 51

// ChannelExtra holds what only few channels have: sets of seqs, and the waiters.
type ChannelExtra struct {
	Uncounted seqset.Set // silent messages and replies that are not broadcast
	Deleted   seqset.Set // counted messages that were deleted
	Alls      seqset.Set // live counted messages that mention everybody
	Wait      Waiters
	Threads   uint32 // first of the channel's threads, through Thread.Next
	Seeded    uint32 // see seeded.go
	SeedLog   int64  // log time at messages_seeded
	Sizes     []uint32
	Queuers   []uint32 // rows that may have queued messages, while the channel is large: derived, not state
	Latest    TimeOf   // time of Channel.Latest, while that is not the head

	SizesDirty bool

	Labels   []string // labels set by channel_updated, ascending
	Archived bool     // archived for everybody

	Mention *Named // first mention of users without a PairExtra: a cache
}

// PairExtra holds what only few pairs have.
type PairExtra struct {
	// Fields that every count reads come first, so that they share few cache lines.
	Unsettled         []held.Event
	Floors            []held.Floor
	Read              *OwnPost          // the newest own post that reads, unless the setting and LastOwn determine it
	WithThreads       *held.WithThreads // nil: none
	Hidden            *Hidden           // nil: none
	OpenReads         []held.Event      // open reads that may become receipts or move Rare.Far
	WaitingDeliveries []held.Event      // deliveries that wait for their message
	Mentions          seqset.Set        // live counted messages that mention the user by id
	Singles           seqset.Set        // messages read singly, above Pointer

	Own           []uint32 // own posts above OwnFrom, ascending, if OwnKept: a cache of the log, not state
	OwnFrom       uint32
	OwnKept       bool
	LastSeen      uint64        // hash of the view last emitted, while anything is held
	Queued        seqset.Set    // messages that were queued for the user, above the furthest that they ever read
	Spans         []Membership  // memberships, if the row alone does not determine them
	Settings      *UserSettings // settings beyond RowMuted; nil: none
	SettingsDirty bool          // the record of Settings is out of date
	Mention       *Named        // the first mention of the last delta: a cache
}

// Named is a message with its id: a cache of a delta, not state.
type Named struct {
	Seq uint32
	ID  []byte
}

// Empty reports whether the extra has no content.
func (x *PairExtra) Empty() bool {
	return len(x.Unsettled)+len(x.Floors)+len(x.OpenReads)+len(x.WaitingDeliveries)+len(x.Spans) == 0 &&
		x.Mentions.Empty() && x.Singles.Empty() && x.Queued.Empty() && !x.OwnKept && x.Settings == nil && !x.SettingsDirty && x.Read == nil &&
		x.Hidden.Empty() && x.WithThreads.Empty()
}

// MinTime is before all other times.
const MinTime = -1 << 63
