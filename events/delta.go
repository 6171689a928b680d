package events

// Ref names a message. The zero Ref is none; a Ref with a Seq and no MessageID has left the index (DESIGN §4.6).
type Ref struct {
	MessageID []byte
	Seq       uint32
}

// Head describes a message that stands for its channel. The zero Head is none.
type Head struct {
	MessageID []byte
	Seq       uint32
	Pos       uint32
	At        int64 // Unix milliseconds
	SenderID  []byte
	Preview   []byte
}

// Stamp says how far the inputs of one value had been folded: M, R and D are next offsets (last record + 1, so that
// offset 0 is not "none") of the last record of the channel and of the last records of this user in it.
type Stamp struct {
	FoldVersion uint32
	M, R, D     int64
}

// Dominates reports whether every part of s is at least that of o: a value with stamp s may then replace one with o.
func (s Stamp) Dominates(o Stamp) bool {
	return s.FoldVersion >= o.FoldVersion && s.M >= o.M && s.R >= o.R && s.D >= o.D
}

// UnreadDelta is the value of a record of tidemark.unread (DESIGN §7): the absolute state of one user in one channel.
type UnreadDelta struct {
	UserID, ChannelID, ThreadID []byte

	Member        bool
	Unread        uint32
	Mentions      uint32
	OfflineUnread uint32
	FirstUnread   Ref
	LastRead      Ref
	LastReadAt    int64 // Unix milliseconds; meaningful only if LastRead.Seq > 0
	Latest        Head
	Large         bool
	Muted         bool
	ReadEpoch     uint32
	Stamp         Stamp
	InstanceID    []byte
	ReadPos       uint32
	Excluded      []uint32
	Mentioned     []uint32
	TouchedAt     int64 // of a thread the user follows: its last reply, or his last read or follow in it; 0 for none
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
	Deleted     bool  // the channel is gone for good
	Stamp       Stamp // R and D are zero
}
