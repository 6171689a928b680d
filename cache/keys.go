package cache

import "strings"

// Names of the keys and channels of DESIGN §8, and of the cache's own keys.
const (
	prefixInbox         = "inbox:"
	prefixInboxThreads  = "inbox-threads:"
	prefixInboxGone     = "inbox-gone:"
	prefixReadPointer   = "read-pointer:"
	prefixThreadRead    = "thread-read:"
	prefixChannelLatest = "channel-latest:"
	prefixChannelStamp  = "channel-stamp:"
	prefixPresence      = "ws:"
	prefixUnreadChannel = "unread:"
	changesChannel      = "read-pointer:changes"

	prefixWritten = "tidemark:written:"

	epochKey   = "tidemark:epoch"
	cursorsKey = "tidemark:cursors"
	ownersKey  = "tidemark:owners"
	updatedKey = "tidemark:channels-updated" // exists once a channel had labels or was archived
	listingKey = "tidemark:thread-listing"   // how long threads are listed: listedMonth or listedAlways
)

// EscapeID returns the form of an id in keys and in names of pub/sub channels (DESIGN §8): `:`
// becomes `%3A` and `%` becomes `%25`, so that no two ids share a key. Fields of hashes have ids
// without escapes.
func EscapeID(id string) string {
	if !strings.ContainsAny(id, ":%") {
		return id
	}
	return string(appendID(nil, []byte(id)))
}

// UnescapeID returns the id that EscapeID turns into s. ok is false if there is none.
func UnescapeID(s string) (id string, ok bool) {
	if !strings.ContainsAny(s, ":%") {
		return s, true
	}
	id = strings.NewReplacer("%3A", ":", "%25", "%").Replace(s)
	return id, EscapeID(id) == s
}

// IDOfKey returns the id in a key. kind is the key of an empty id: IDOfKey(InboxKey(""), key) is
// the user of an inbox. ok is false if the key is of another kind.
func IDOfKey(kind, key string) (id string, ok bool) {
	s, ok := strings.CutPrefix(key, kind)
	if !ok {
		return "", false
	}
	return UnescapeID(s)
}

func appendID(b, id []byte) []byte {
	from := 0
	for i, c := range id {
		var as string
		switch c {
		case ':':
			as = "%3A"
		case '%':
			as = "%25"
		default:
			continue
		}
		b = append(append(b, id[from:i]...), as...)
		from = i + 1
	}
	return append(b, id[from:]...)
}

// InboxKey names the hash of a user's channels.
func InboxKey(user string) string { return prefixInbox + EscapeID(user) }

// InboxGoneKey names the hash of the channels and threads that a user left within the last day. Its
// stamps keep late deltas from bringing them back.
func InboxGoneKey(user string) string { return prefixInboxGone + EscapeID(user) }

// InboxThreadsKey names the hash of the threads that a user follows.
func InboxThreadsKey(user string) string { return prefixInboxThreads + EscapeID(user) }

// ThreadField returns the field of a thread in that hash. No id contains a control character.
func ThreadField(channel, thread string) string { return channel + "\x00" + thread }

// ThreadReadKey names the hash of a user's read pointer in a thread. It does not contain the
// channel, so thread ids must be unique across channels.
func ThreadReadKey(user, thread string) string {
	return prefixThreadRead + EscapeID(user) + ":" + EscapeID(thread)
}

// ReadPointerKey names the hash of a user's read pointer in a channel.
func ReadPointerKey(user, channel string) string {
	return prefixReadPointer + EscapeID(user) + ":" + EscapeID(channel)
}

// ChannelLatestKey names the hash of a channel's head and of the lists from which readers derive
// counts in it.
func ChannelLatestKey(channel string) string { return prefixChannelLatest + EscapeID(channel) }

// ChannelStampKey names the stamp of that hash: `fold_version.m`.
func ChannelStampKey(channel string) string { return prefixChannelStamp + EscapeID(channel) }

// PresenceKey names the key that exists while a user has a socket at some gateway.
func PresenceKey(user string) string { return prefixPresence + EscapeID(user) }

// UnreadChannel names the pub/sub channel of a user's applied deltas.
func UnreadChannel(user string) string { return prefixUnreadChannel + EscapeID(user) }

// ReadPointerChanges names the pub/sub channel of all moves of read pointers.
const ReadPointerChanges = changesChannel
