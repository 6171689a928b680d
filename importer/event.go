package importer

import "context"

// Kind is the kind of an Event.
type Kind uint8

// The kinds of events.
const (
	// KindChannel names a channel and states whether it is Direct.
	KindChannel Kind = 1 + iota
	// KindMember means that User was a member from At on, until Until if that is set.
	KindMember
	// KindPost is the message ID, posted by User at At, and deleted at Until if that is set.
	KindPost
	// KindChannelDeleted means that the channel was deleted at At.
	KindChannelDeleted
	// KindPointer means that User has read up to the message ID, or up to the Seq-th message of the
	// channel, or everything up to At. The pointer was set at Until.
	KindPointer
	// KindFollow means that User has followed Thread since At.
	KindFollow
	// KindUnfollow means that User stopped following Thread at At.
	KindUnfollow
	// KindMute means that User muted the channel at At.
	KindMute

	kindLeave // User left at At: the second half of a KindMember
	kindSeed  // the channel had Seq messages before the cut

	// These are changes, which only a bridge has.

	// KindUnmute means that User no longer mutes the channel since At.
	KindUnmute
	// KindEdit means that the message ID has other text and mentions since At.
	KindEdit
	// KindDelete means that the message ID was deleted at At.
	KindDelete
	// KindLeave means that User left at At.
	KindLeave = kindLeave
)

// KindSingle means that User has read the message ID, posted at At, although older ones are unread.
const KindSingle Kind = 64

// Event is one fact of a product about a channel. Times are in Unix milliseconds, 0 if the product
// states none.
type Event struct {
	Kind    Kind
	Channel string
	User    string
	ID      string
	Thread  string
	Text    string
	At      int64
	Until   int64
	Seq     uint32

	Mentions   []string
	MentionAll bool
	Silent     bool
	Broadcast  bool // a reply that counts in the channel
	Direct     bool // a channel whose members count its whole history
	Private    bool // a read that others do not see
	Quiet      bool // for comparisons only: the product's own numbers leave out this message, or the unread messages of this pointer
	Emptied    bool // for comparisons only: a deleted message whose thread and mentions the product no longer has
	Whole      bool // for comparisons only: a pointer of a channel that has also read all of its threads
	Before     bool // a pointer right before the message ID
	Threads    bool // a pointer that also reads the channel's threads; in an import, one after the newest message

	// Only events of a bridge have these.
	Next     string   // the message after a pointer: it stays unread, whatever the user read or posted before
	More     []string // further messages of a KindSingle
	Explicit bool     // a message that does not read the channel for its author, because the product has a pointer of theirs
}

// Origin is the place of an event in the source, for problem reports.
type Origin struct {
	Table string
	Row   int64
}

// Product maps the rows of one chat product to events.
type Product interface {
	// Events calls emit for each event of the source, channels and pointers before messages. It
	// adds rows that cannot be mapped to p. It returns the first error of the source or of emit.
	Events(ctx context.Context, p *Problems, emit func(Origin, *Event) error) error
}
