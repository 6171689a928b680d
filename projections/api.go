package projections

import "github.com/tidemark/tidemark/events"

// FoldVersion names the rules of this build. Two builds with the same FoldVersion fold the same log to the same bytes.
const FoldVersion = 1

// Position is V = (m, r, d) of DESIGN §1: the next offsets of chat.messages, chat.reads and chat.deliveries.
type Position [events.NumInputs]int64

// Dominates reports whether p is at or beyond o in every input.
func (p Position) Dominates(o Position) bool {
	for i := range p {
		if p[i] < o[i] {
			return false
		}
	}
	return true
}

// Settings are what the fold sees of the configuration. They are part of the store's header: a store folded with other
// settings is refused, because its bytes would differ.
type Settings struct {
	FanoutLimit    uint32 // members above which a channel is large for deltas (DESIGN §2); 0 = every channel is large
	ReceiptLimit   uint32 // members above which a message has no per-message receipts
	SendMarksRead  bool   // sending reads up to the own message
	IndexRetention int64  // milliseconds of log time during which an id can be named
}

// DefaultSettings are those of DESIGN: 50, 50, true, 90 days.
func DefaultSettings() Settings {
	return Settings{FanoutLimit: 50, ReceiptLimit: 50, SendMarksRead: true, IndexRetention: 90 * 24 * 3600 * 1000}
}

// Outcome is what folding one record did.
type Outcome uint8

// MaxSeq is the seq of the last message that a channel takes. The number above it says "none" where a seq is expected
// (noOwn, stillMember).
const MaxSeq = 1<<32 - 2

// Outcomes. OutcomeTooManyHeld and OutcomeChannelFull make the record a dead letter.
const (
	OutcomeApplied     Outcome = iota
	OutcomeDuplicate           // nothing but the stamp changed
	OutcomeIgnored             // names something unknown, stale or gone: counted and ignored
	OutcomeWaiting             // a read that waits for what it names
	OutcomeTooManyHeld         // beyond the 1,000 held events of a user in a scope (DESIGN §4.3)
	OutcomeChannelFull         // a post beyond MaxSeq
	NumOutcomes
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

// View is what one user sees of one channel at the partition's position (DESIGN §4.2, §4.3).
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
	Stamp         events.Stamp

	// For readers that derive the counts of a large channel (DESIGN §7).
	ReadPos   uint32
	Excluded  []uint32
	Mentioned []uint32
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
}

// Explanation says which messages are behind an unread number and what does not count (DESIGN §9, ExplainUnread).
type Explanation struct {
	Unread     uint32
	MessageIDs []string // oldest first, at most 1,000; empty string = left the index
	More       bool
	Excluded   Excluded
	Pointer    Ref
	PointerAt  int64
	Event      Event // which record put the pointer there; Input is meaningful only if Pointer.Seq > 0
}

// Excluded counts the messages above max(pointer, purge floor) that do not count, each under the first reason that
// applies, in this order.
type Excluded struct {
	BeforeJoin, Deleted, Silent, Thread, Own, ReadSingly uint32
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
	Following   bool // the thread is one of the user's, and its root was not deleted
	Unread      uint32
	Mentions    uint32
	FirstUnread Ref
	LastRead    Ref
	LastReadAt  int64 // meaningful only if LastRead.Seq > 0
	LastReply   Head  // newest live reply, broadcast ones too; Pos is not set
	TouchedAt   int64 // latest of the last reply, the user's pointer and his last follow by word; Unix milliseconds
	Muted       bool
	ReadEpoch   uint32
	Stamp       events.Stamp // of the user in the channel
}
