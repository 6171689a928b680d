package events

import "bytes"

// AppendUnreadKey appends the key of a record of tidemark.unread: user 0x00 channel, for a thread
// followed by 0x00 thread. Ids contain no 0x00, so keys are unambiguous. The record's partition is
// that of the user's id alone.
func AppendUnreadKey(b, user, channel, thread []byte) []byte {
	b = append(b, user...)
	b = append(b, 0)
	b = append(b, channel...)
	if len(thread) > 0 {
		b = append(b, 0)
		b = append(b, thread...)
	}
	return b
}

// SplitUnreadKey takes a key of tidemark.unread apart; the parts borrow from it. ok is false if it
// has not two or three parts, none of them empty. thread is nil if the key is a channel's.
func SplitUnreadKey(key []byte) (user, channel, thread []byte, ok bool) {
	user, rest, ok := bytes.Cut(key, []byte{0})
	if !ok || len(user) == 0 {
		return nil, nil, nil, false
	}
	channel, thread, threaded := bytes.Cut(rest, []byte{0})
	if len(channel) == 0 || threaded && (len(thread) == 0 || bytes.IndexByte(thread, 0) >= 0) {
		return nil, nil, nil, false
	}
	return user, channel, thread, true
}
