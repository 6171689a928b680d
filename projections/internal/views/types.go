package views

import (
	"github.com/tidemark/tidemark/events"
)

// Ref names a message in a View. The zero Ref is none.
type Ref struct {
	MessageID string
	Seq       uint32
}

// Head is the newest live counted message in a View. The zero Head is none.
type Head struct {
	MessageID string
	Seq       uint32
	Pos       uint32
	At        int64 // Unix milliseconds
	SenderID  string
	Preview   string
}

// View is what one user sees of one channel at the partition's position (DESIGN §4.2, §4.3). Tests
// compare every field with the model and with what was published. A field that no delta tells is
// cleared before that, in internal/test/script/promised.go.
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

	DirectMentions uint32 // those of Mentions that name the user
	FirstMention   Ref    // the lowest of Mentions

	Level      events.Level // as it was said: Until may have passed
	LevelAfter events.Level // that holds again after Until; LevelAll without one
	Until      int64        // Unix milliseconds; 0 = none
	IgnoreAll  bool         // mentions of all are none
	Flagged    bool         // to be seen, whatever the counts are
	Filed      events.Filed // by the user, whether it still holds or not
	StillFiled bool         // it does
	Line       Ref          // as it was said: by id or by seq
	LineKnown  Ref          // Line, with the half of it that was not said, if that is known
	Labels     []string     // the user's own, ascending

	ChannelLabels   []string // the channel's own, ascending
	ChannelArchived bool     // the channel is filed for everybody
	Archived        bool     // it is listed apart: StillFiled, or for everybody

	Stamp events.Stamp

	// For readers that derive the counts of a large channel (DESIGN §7).
	ReadPos   uint32
	Excluded  []uint32
	Mentioned []uint32
	Ask       bool // they cannot: something above ReadPos is hidden from the user
}

// ChannelView is what is known of a channel, whoever asks.
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

// Explanation says which messages are behind an unread number and what does not count (DESIGN §9,
// ExplainUnread).
type Explanation struct {
	Unread     uint32
	MessageIDs []string // of those that have an id, oldest first, at most 1,000
	More       bool
	Unnamed    uint32 // how many have no id: seeded, or older than the index
	Excluded   Excluded
	Pointer    Ref
	PointerAt  int64
	Event      Event // which record put the pointer there; Input is meaningful only if Pointer.Seq > 0
}

// Excluded counts the messages above max(pointer, purge floor) that do not count, each under the
// first reason that applies, in this order.
type Excluded struct {
	BeforeJoin, Deleted, Silent, Thread, Own, Hidden, ReadSingly uint32
}

// Event names a record of an input topic.
type Event struct {
	Input  events.Input
	Offset int64
}

// ThreadView is what one user sees of one thread at the partition's position (DESIGN §4.4).
type ThreadView struct {
	UserID, ChannelID, ThreadID string

	Member      bool // of the channel
	Following   bool // and its root was not deleted; it is in panels while it has a LastReply
	Unread      uint32
	Mentions    uint32
	FirstUnread Ref

	DirectMentions uint32 // those of Mentions that name the user
	FirstMention   Ref    // the lowest of Mentions

	LastRead   Ref
	LastReadAt int64 // meaningful only if LastRead.Seq > 0
	LastReply  Head  // newest live reply, broadcast ones too; Pos is not set
	TouchedAt  int64 // latest of the last reply, the user's pointer and their last follow by word; Unix milliseconds
	Muted      bool
	ReadEpoch  uint32
	Stamp      events.Stamp // of the user in the channel
}
