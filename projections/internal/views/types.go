package views

import (
	"github.com/tidemark/tidemark/events"
)

// Ref names a message in a View. The zero Ref names none.
type Ref struct {
	MessageID string
	Seq       uint32
}

// Head is the newest live counted message in a View. The zero Head means none.
type Head struct {
	MessageID string
	Seq       uint32
	Pos       uint32
	At        int64 // Unix milliseconds
	SenderID  string
	Preview   string
}

// View is what one user sees of one channel at the partition's position (DESIGN §4.2, §4.3). Tests
// compare every field with the model and with the published deltas.
// internal/test/script/promised.go clears the fields that no delta has before it compares.
type View struct {
	UserID, ChannelID string

	Member        bool
	Unread        uint32
	Mentions      uint32
	OfflineUnread uint32
	FirstUnread   Ref
	LastRead      Ref
	LastReadAt    int64 // meaningful only if LastRead.Seq > 0
	Latest        Head
	Large         bool
	Muted         bool
	ReadEpoch     uint32

	DirectMentions uint32 // how many of Mentions name the user
	FirstMention   Ref    // the oldest of Mentions

	Level      events.Level // as it was set: Until may have passed
	LevelAfter events.Level // the level that applies again after Until; LevelAll without an Until
	Until      int64        // Unix milliseconds; 0 = none
	IgnoreAll  bool         // mentions of everybody do not count
	Flagged    bool         // the user flagged the channel, whatever the counts are
	Filed      events.Filed // by the user, whether it still holds or not
	StillFiled bool         // Filed still holds
	Line       Ref          // as it was set: by id or by seq
	LineKnown  Ref          // Line with both id and seq, as far as they are known
	Labels     []string     // the user's own, ascending

	ChannelLabels   []string // the channel's own, ascending
	ChannelArchived bool     // the channel is filed for everybody
	Archived        bool     // the channel is listed apart: StillFiled, or archived for everybody

	Stamp events.Stamp

	// For readers that derive the counts of a large channel (DESIGN §7).
	ReadPos   uint32
	Excluded  []uint32
	Mentioned []uint32
	Ask       bool // they cannot derive them: something above ReadPos is hidden from the user
}

// ChannelView describes a channel independently of any user.
type ChannelView struct {
	ChannelID   string
	Latest      Head
	HeadSeq     uint32
	HeadPos     uint32
	MemberCount uint32
	Large       bool
	Deleted     bool
	Labels      []string // ascending
	Archived    bool     // filed for everybody
}

// Explanation lists the messages behind an unread number and counts those that do not count (DESIGN
// §9, ExplainUnread).
type Explanation struct {
	Unread     uint32
	MessageIDs []string // ids of the messages that have one, oldest first, at most 1,000
	More       bool
	Unnamed    uint32 // how many messages have no id: seeded, or older than the index
	Excluded   Excluded
	Pointer    Ref
	PointerAt  int64
	Event      Event // the record that put the pointer there; Input is meaningful only if Pointer.Seq > 0
}

// Excluded counts the messages above max(pointer, purge floor) that do not count, each under the
// first reason that applies, in this order.
type Excluded struct {
	BeforeJoin, Deleted, Silent, Thread, Own, Hidden, ReadSingly uint32
}

// Event identifies a record of an input topic.
type Event struct {
	Input  events.Input
	Offset int64
	Gone   bool // it was a message that the log has trimmed; Input and Offset are zero
}

// ThreadView is what one user sees of one thread at the partition's position (DESIGN §4.4).
type ThreadView struct {
	UserID, ChannelID, ThreadID string

	Member      bool // member of the channel
	Following   bool // the user follows, and the root was not deleted; panels list the thread while it has a LastReply
	Unread      uint32
	Mentions    uint32
	FirstUnread Ref

	DirectMentions uint32 // how many of Mentions name the user
	FirstMention   Ref    // the oldest of Mentions

	LastRead   Ref
	LastReadAt int64 // meaningful only if LastRead.Seq > 0
	LastReply  Head  // newest live reply, including broadcasts; Pos is not set
	TouchedAt  int64 // latest time of the last reply, the user's pointer and their last explicit follow; Unix milliseconds
	Muted      bool
	ReadEpoch  uint32
	Stamp      events.Stamp // stamp of the user in the channel
}
