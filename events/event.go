package events

// Input numbers the three input topics in the order in which the one definition of DESIGN §4 takes
// them.
type Input uint8

// The inputs, in the order of DESIGN §4. They index Position in package projections.
const (
	Messages Input = iota
	Reads
	Deliveries
	NumInputs = 3
)

// Kind is the member of an event's oneof that is set.
type Kind uint8

// Kinds of all three event types; the zero Kind is not a valid event.
const (
	KindNone Kind = iota
	KindMessagePosted
	KindMessageEdited
	KindMessageDeleted
	KindMessagesPurged
	KindMembersJoined
	KindMembersLeft
	KindChannelDeleted
	KindMessagesSeeded
	KindChannelUpdated
	KindReadUpTo
	KindMessagesRead
	KindMarkedUnread
	KindThreadFollowed
	KindThreadUnfollowed
	KindChannelMuted
	KindUserErased
	KindNotifySet
	KindFlagSet
	KindChannelFiled
	KindMessagesHidden
	KindLineSet
	KindMessagesViewed
	KindLabelsSet
	KindDelivered
	KindQueued
	NumKinds
)

// Target is the member of a target oneof that is set.
type Target uint8

// Targets of reads and purges.
const (
	TargetNone Target = iota
	TargetMessageID
	TargetSeq
	TargetTime
)

// Level determines what a channel adds to its user's badge (DESIGN §4.7).
type Level uint8

// Levels, with the numbers of the schema.
const (
	LevelAll Level = iota
	LevelMentions
	LevelNone // muted
	NumLevels
)

// Choice is a bool that may be missing.
type Choice uint8

// Choices.
const (
	NotStated Choice = iota
	No
	Yes
)

// Or returns the choice as a bool, and otherwise if the choice is missing.
func (c Choice) Or(otherwise bool) bool {
	if c == NotStated {
		return otherwise
	}
	return c == Yes
}

// Message is a decoded and validated record of chat.messages. Byte slices borrow from the record's
// value and live as long as it does; IDs and HiddenFrom are reused by the next Decode into the same
// Message.
//
// Times are Unix milliseconds, truncated downwards.
type Message struct {
	Kind       Kind
	ChannelID  []byte
	OccurredAt int64

	MessageID []byte // posted, edited, deleted (empty if only Seq names it); purged: up_to_message_id
	SenderID  []byte
	Preview   []byte // cut to 140 characters (Unicode code points) by the decoder
	ThreadID  []byte

	Broadcast    bool
	Silent       bool
	MentionAll   bool
	KeepMentions bool // edited
	CountHistory bool // members_joined
	Archived     bool // channel_updated

	MarksRead Choice // posted

	IDs         [][]byte // posted, edited: mentions; joined, left: user ids; channel_updated: labels
	HiddenFrom  [][]byte // posted: users from whom the message is hidden
	MemberCount uint32
	Count       uint32 // messages_seeded
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

	Target     Target // read_up_to, line_set
	MessageID  []byte // read_up_to, line_set, marked_unread (empty if only Seq names it)
	Seq        uint32 // read_up_to, line_set, marked_unread, messages_hidden (up_to_seq); 0 = not stated
	TargetTime int64
	ThreadID   []byte
	ReadEpoch  uint32 // 0 = not stated
	Private    bool

	Muted     bool   // channel_muted
	Flagged   bool   // flag_set
	Archived  bool   // channel_filed
	Keep      bool   // channel_filed
	Level     Level  // notify_set
	IgnoreAll Choice // notify_set: ignore_mention_all

	IDs           [][]byte // messages_read, hidden, viewed: message ids; labels_set: labels
	HeadMessageID []byte   // marked_unread; empty = not stated
	HeadSeq       uint32   // marked_unread, flag_set, channel_filed; 0 = not stated

	WithThreads   bool  // read_up_to
	ClockReplaced bool  // as in Message
	Until         int64 // notify_set: Unix milliseconds, at least 1; 0 = not stated
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
