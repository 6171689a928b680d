package events

// Ref names a message. The zero Ref names none. A Ref with a Seq and no MessageID names a message
// that has left the index (DESIGN §4.6).
type Ref struct {
	MessageID []byte
	Seq       uint32
}

// Head describes the message that represents its channel. The zero Head means none.
type Head struct {
	MessageID []byte
	Seq       uint32
	Pos       uint32
	At        int64 // Unix milliseconds
	SenderID  []byte
	Preview   []byte
}

// Filed states how a user filed a channel. Inboxes list a filed channel apart while the position of
// its head is at most Pos, or permanently with Keep.
type Filed struct {
	Is, Keep bool
	Pos      uint32
}

// Holds reports whether the channel is still filed with its head at a position.
func (f Filed) Holds(headPos uint32) bool { return f.Is && (f.Keep || headPos <= f.Pos) }

// UnreadDelta is the value of a record of tidemark.unread (DESIGN §7): the absolute state of one
// user in one channel.
type UnreadDelta struct {
	UserID, ChannelID, ThreadID []byte

	Member        bool
	Unread        uint32
	Mentions      uint32
	OfflineUnread uint32
	FirstUnread   Ref
	LastRead      Ref
	LastReadAt    int64 // Unix milliseconds; only with LastRead.Seq > 0; 0: a thread was read with its channel
	Latest        Head
	Large         bool
	Muted         bool
	ReadEpoch     uint32
	Stamp         Stamp
	InstanceID    []byte
	ReadPos       uint32
	Excluded      []uint32
	Mentioned     []uint32

	DirectMentions uint32 // how many of Mentions name the user
	FirstMention   Ref    // the oldest of Mentions; none if Large
	Level          Level  // as the user set it: Until may have passed
	LevelAfter     Level  // applies again after Until; LevelAll without one
	IgnoreAll      bool   // ignore_mention_all: Mentions are DirectMentions
	Flagged        bool
	Ask            bool  // a reader cannot derive counts and filing: ask the query service
	Until          int64 // Unix milliseconds; 0 for none
	Filed          Filed
	Line           Ref      // as the user stated it: by id or by seq
	Labels         [][]byte // the user's own, ascending

	TouchedAt int64 // of a thread the user follows: its last reply, or their last read or follow in it; 0 for none
}

// ChosenLevel returns Level. It also works for a delta of fold version 1, which has Muted alone for
// a plain mute.
func (d *UnreadDelta) ChosenLevel() Level {
	if d.Muted && d.Until == 0 {
		return LevelNone
	}
	return d.Level
}

// ChannelRecord is the value of a record of tidemark.channels (DESIGN §7).
type ChannelRecord struct {
	ChannelID   []byte
	Latest      Head // newest live counted message
	HeadSeq     uint32
	HeadPos     uint32
	MemberCount uint32
	Holes       []uint32 // positions of deleted messages, ascending, newest 1,000
	HolesFloor  uint32   // holes at or below this position are not listed
	Alls        []uint32 // positions of @all messages, ascending, newest 1,000
	AllsFloor   uint32
	PurgedPos   uint32
	Large       bool
	Deleted     bool     // the channel is gone for good
	Stamp       Stamp    // R and D are zero
	Labels      [][]byte // ascending
	Archived    bool     // filed for everybody
}
