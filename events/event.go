package events

// Input numbers the three input topics in the order in which the one definition of DESIGN §4 takes them.
type Input uint8

// The inputs, in that order. They index Position in package projections.
const (
	Messages Input = iota
	Reads
	Deliveries
	NumInputs = 3
)

// Kind says which member of an event's oneof is set.
type Kind uint8

// Kinds of all three event types; the zero Kind is no valid event.
const (
	KindNone Kind = iota
	KindMessagePosted
	KindMessageEdited
	KindMessageDeleted
	KindMessagesPurged
	KindMembersJoined
	KindMembersLeft
	KindChannelDeleted
	KindReadUpTo
	KindMessagesRead
	KindMarkedUnread
	KindThreadFollowed
	KindThreadUnfollowed
	KindChannelMuted
	KindUserErased
	KindDelivered
	KindQueued
	NumKinds
)

// Target says which member of a target oneof is set.
type Target uint8

// Targets of reads and purges.
const (
	TargetNone Target = iota
	TargetMessageID
	TargetSeq
	TargetTime
)

// Message is a decoded and validated record of chat.messages. Byte slices borrow from the record's value and live as
// long as it does; IDs is reused by the next Decode into the same Message.
//
// Times are Unix milliseconds, truncated downwards.
type Message struct {
	Kind       Kind
	ChannelID  []byte
	OccurredAt int64

	MessageID []byte // posted, edited, deleted; purged: up_to_message_id
	SenderID  []byte
	Preview   []byte // cut to 140 characters (Unicode code points) by the decoder
	ThreadID  []byte

	Broadcast    bool
	Silent       bool
	MentionAll   bool
	KeepMentions bool // edited
	CountHistory bool // members_joined

	IDs         [][]byte // posted, edited: mentions; joined, left: user ids
	MemberCount uint32
	Seq         uint32 // deleted: seq if known; purged: up_to_seq
	Target      Target // purged
	TargetTime  int64  // purged: up_to_time

	ClockReplaced bool // a time was more than 5 minutes ahead of the record's timestamp and was replaced by it
}

// Read is a decoded and validated record of chat.reads. Slices borrow as in Message.
type Read struct {
	Kind       Kind
	ChannelID  []byte
	UserID     []byte
	InstanceID []byte
	OccurredAt int64

	Target     Target // read_up_to
	MessageID  []byte // read_up_to, marked_unread
	Seq        uint32
	TargetTime int64
	ThreadID   []byte
	ReadEpoch  uint32 // 0 = not stated
	Private    bool

	IDs           [][]byte // messages_read
	HeadMessageID []byte   // marked_unread; empty = not stated
	HeadSeq       uint32   // marked_unread; 0 = not stated
	Muted         bool

	ClockReplaced bool
}

// Delivery is a decoded and validated record of chat.deliveries. Slices borrow as in Message.
type Delivery struct {
	Kind       Kind
	ChannelID  []byte
	UserID     []byte
	OccurredAt int64

	MessageID []byte // delivered.message_id or queued.message_id
	UpToID    []byte // delivered.up_to_message_id
	DeviceID  []byte

	ClockReplaced bool
}
