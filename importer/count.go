package importer

import "context"

// Count is the number that a product itself has for a user in a channel, or in a thread of it.
type Count struct {
	User, Channel, Thread string
	Unread                int64  // as stored: it may be negative
	Mentions              *int64 // nil: the product stores none

	OnlyMentions bool   // Unread counts only messages that mention the user
	Capped       bool   // the product has stopped counting
	Why          string // why the number cannot be compared; "" if it can
}

// Counter is a product whose own numbers can be read.
type Counter interface {
	Product
	// Counts calls emit for each number of the given users, of all users if none are given. It adds
	// rows without a number to p.
	Counts(ctx context.Context, users []string, p *Problems, emit func(Count) error) error
}

// Muter is a Counter whose numbers leave out what came while a user had muted a channel, also when
// they no longer mute it.
type Muter interface {
	Counter
	// WhileMuted calls emit for each message that came while a user had muted its channel, for the
	// given channels of each user; also for events that are no messages. It adds mutes whose
	// beginning the source does not have to p. If the source has none of this, it returns why.
	WhileMuted(ctx context.Context, in map[string][]string, p *Problems, emit func(user, channel, id string) error) (unknown string, err error)
}

// Versioner is a Counter that keeps the versions of edited messages. An import reads the newest
// ones only. A bridge also wrote those before, and whom they mentioned follows the thread.
type Versioner interface {
	Counter
	// Versions calls emit with a KindEdit for each version that messages of these channels had. It
	// has the ID of the message, its Mentions, and the User who wrote the version. Versions of other
	// users than the author of the message do not count.
	Versions(ctx context.Context, channels []string, emit func(*Event) error) error
}
