package cache

import "github.com/tidemark/tidemark/cache/internal/entry"

// The types of a Reader's answers.
type (
	// Entry is a user's view of one channel that they are a member of, or of one thread that they
	// follow.
	Entry = entry.Entry
	// Ref names a message.
	Ref = entry.Ref
	// Update is a message of a user's pub/sub channel: a delta that was just applied.
	Update = entry.Update
	// Channel is the content of channel-latest of a channel.
	Channel = entry.Channel
)

// ParseUpdate parses a message of UnreadChannel. The counts of a large channel are not Known;
// Reader.Unread derives them.
func ParseUpdate(payload string) (Update, error) { return entry.ParseUpdate(payload) }
