package importer

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// A key is a place in the order of all events of all channels by time. It consists of the time, a
// rank that orders the events of one millisecond, and bytes that distinguish events of the same
// rank. Keys depend on the event alone, so every run reads a source in the same order.

// Ranks order the events of one millisecond. Joins come before posts, so that a user who does both
// is a member when they post. Reads up to a time come after posts at that time, and include them.
const (
	rankJoin byte = 1 + iota
	rankSeed
	rankPost
	rankDelete
	rankLeave
	rankEnd
	rankPointer
)

// key returns the beginning of a key.
func key(at int64, rank byte) []byte {
	b := make([]byte, 0, 64)
	b = binary.BigEndian.AppendUint64(b, uint64(max(at, 0)))
	return append(b, rank)
}

// timeOf returns the time in a key.
func timeOf(key []byte) int64 { return int64(binary.BigEndian.Uint64(key)) }

// rankOf returns the rank in a key.
func rankOf(key []byte) byte { return key[8] }

// appendID appends an id to a key. Ids that are numbers sort by value, and before all other ids.
func appendID(b []byte, id string) []byte {
	digits := strings.TrimLeft(id, "0")
	if id != "" && strings.Trim(id, "0123456789") == "" {
		b = append(append(b, 1, byte(len(digits))), digits...)
		return append(b, 0, byte(len(id))) // 007 is not 7
	}
	return append(append(append(b, 2), id...), 0)
}

// postKey returns the place of a message.
func postKey(at int64, id, channel string) []byte {
	return append(appendID(key(at, rankPost), id), channel...)
}

// behind returns the place right after another one.
func behind(key []byte) []byte { return append(key, 0xff) }

// before returns the place right before that of a message in its channel, and after all smaller
// ones.
func before(post []byte, channel string) []byte {
	return append(bytes.Clone(post[:len(post)-len(channel)]), 0) // no id of a channel has such a byte
}

// place returns the key of an event in the passes. A pointer that names a message by id gets its
// key from that message instead.
func (e *Event) place() []byte {
	switch e.Kind {
	case KindMember, kindLeave:
		rank := rankJoin
		if e.Kind == kindLeave {
			rank = rankLeave
		}
		return append(append(append(key(e.At, rank), e.Channel...), 0), e.User...)
	case KindPost:
		return postKey(e.At, e.ID, e.Channel)
	case KindChannelDeleted:
		return append(key(e.At, rankEnd), e.Channel...)
	}
	k := append(append(append(key(e.At, rankPointer), e.Channel...), 0), e.User...)
	return append(append(k, 0), e.Thread...)
}

// Compare orders events as an import does. It returns 0 for two rows of the same event.
func (e *Event) Compare(other *Event) int { return bytes.Compare(e.place(), other.place()) }
