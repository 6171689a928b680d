package cache

// Names of the keys and channels of DESIGN §8, and of the cache's own.
const (
	prefixInbox         = "inbox:"
	prefixInboxThreads  = "inbox-threads:"
	prefixInboxGone     = "inbox-gone:"
	prefixReadPointer   = "read-pointer:"
	prefixThreadRead    = "thread-read:"
	prefixChannelLatest = "channel-latest:"
	prefixChannelStamp  = "channel-stamp:"
	prefixUnreadChannel = "unread:"
	changesChannel      = "read-pointer:changes"

	prefixWritten = "tidemark:written:"

	epochKey   = "tidemark:epoch"
	cursorsKey = "tidemark:cursors"
	ownersKey  = "tidemark:owners"
)

// InboxKey is the hash of a user's channels.
func InboxKey(user string) string { return prefixInbox + user }

// InboxGoneKey is the hash of the channels and threads that a user is out of, for a day: stamps, so that no late delta brings
// them back.
func InboxGoneKey(user string) string { return prefixInboxGone + user }

// InboxThreadsKey is the hash of the threads that a user follows.
func InboxThreadsKey(user string) string { return prefixInboxThreads + user }

// ThreadField is the field of a thread in that hash. No id has a control character.
func ThreadField(channel, thread string) string { return channel + "\x00" + thread }

// ThreadReadKey is the hash of where a user stands in a thread. It does not say in which channel: it is good where thread
// ids are unique across channels. A user id that contains a colon can make two threads share a key.
func ThreadReadKey(user, thread string) string { return prefixThreadRead + user + ":" + thread }

// ReadPointerKey is the hash of where a user stands in a channel. A user id that contains a colon can make two pairs
// share a key.
func ReadPointerKey(user, channel string) string { return prefixReadPointer + user + ":" + channel }

// ChannelLatestKey is the hash of a channel's head and of what deriving the counts of a large channel needs.
func ChannelLatestKey(channel string) string { return prefixChannelLatest + channel }

// ChannelStampKey is the stamp of what that hash holds: `fold_version.m`.
func ChannelStampKey(channel string) string { return prefixChannelStamp + channel }

// UnreadChannel is the pub/sub channel of a user's applied deltas.
func UnreadChannel(user string) string { return prefixUnreadChannel + user }

// ReadPointerChanges is the pub/sub channel of all moves of read pointers.
const ReadPointerChanges = changesChannel
