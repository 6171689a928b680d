package paging

import (
	"github.com/tidemark/tidemark/query/internal/fault"

	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/fnv"
	"strings"
	"time"
)

const (
	// DefaultSize is the page size of a request without one.
	DefaultSize = 50
	// MaxSize is the largest size of a page.
	MaxSize = 1000
	// MaxAge is how long a token is valid: an inbox that is paged over hours is not coherent.
	MaxAge = 10 * time.Minute

	pageTokenVersion = 1
	pageTokenHead    = 1 + 1 + 8 + 8 + 8 // version, flags, issued, scope, activity
	flagUnread       = 1 << 0
	flagUnreadOnly   = 1 << 1
)

// Key is the position of a channel in an inbox: unread first, then newest activity, ties by channel
// id.
type Key struct {
	Unread bool
	At     int64 // Unix milliseconds of the latest message, 0 = none
	ID     string
}

// threadSep separates the ids of channel and thread in a Key.
const threadSep = "\x00"

// ThreadID returns the ID in the key of a thread.
func ThreadID[T string | []byte](channelID, threadID T) string {
	return string(channelID) + threadSep + string(threadID)
}

// SplitThread splits the ID that ThreadID has joined.
func (k Key) SplitThread() (channelID, threadID string) {
	channelID, threadID, _ = strings.Cut(k.ID, threadSep)
	return channelID, threadID
}

// Before reports whether a channel with key k is listed before one with key o.
func (k Key) Before(o Key) bool {
	switch {
	case k.Unread != o.Unread:
		return k.Unread
	case k.At != o.At:
		return k.At > o.At
	}
	return k.ID < o.ID
}

// Compare returns a negative number if k is listed before o, a positive one if after, and 0 if they
// are equal.
func (k Key) Compare(o Key) int {
	switch {
	case k.Unread != o.Unread && k.Unread:
		return -1
	case k.Unread != o.Unread:
		return 1
	case k.At != o.At:
		return cmp.Compare(o.At, k.At)
	}
	return strings.Compare(k.ID, o.ID)
}

// A page token is a position in the order, not a count. An entry that changes between two pages is
// listed at its new position; an entry that does not is listed exactly once. The token is bound to
// user and filter, and its checksum distinguishes a damaged token from an old one. It grants
// nothing, so it needs no signature.
//
//	version 1 | flags 1 | issued ms 8 | fnv64a(user) 8 | activity ms 8 | channel id | crc32c 4
//
// Numbers are big endian.

// Encode returns the token of the page after last.
func Encode(userID string, unreadOnly bool, last Key, now time.Time) string {
	b := make([]byte, 0, pageTokenHead+len(last.ID)+4)
	var flags byte
	if last.Unread {
		flags |= flagUnread
	}
	if unreadOnly {
		flags |= flagUnreadOnly
	}
	b = append(b, pageTokenVersion, flags)
	b = binary.BigEndian.AppendUint64(b, uint64(now.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, userHash(userID))
	b = binary.BigEndian.AppendUint64(b, uint64(last.At))
	b = append(b, last.ID...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errMangled = errors.New("not a token of this service")

// IsOf reports whether a token is bound to userID.
func IsOf(token, userID string) bool {
	b, err := parse(token)
	return err == nil && binary.BigEndian.Uint64(b[10:]) == userHash(userID)
}

// Decode returns the last key of the previous page. A zero now skips the check of the age.
func Decode(token, userID string, unreadOnly bool, now time.Time) (Key, error) {
	fail := func(why string) (Key, error) {
		return Key{}, fault.Invalid("page_token %s: start again without page_token", why)
	}
	b, err := parse(token)
	if err != nil {
		return fail("is no next_page_token of this service")
	}
	flags := b[1]
	issued := time.UnixMilli(int64(binary.BigEndian.Uint64(b[2:])))
	switch {
	case binary.BigEndian.Uint64(b[10:]) != userHash(userID):
		return fail("belongs to another user_id, label or archived")
	case flags&flagUnreadOnly != 0 != unreadOnly:
		return fail("was made with another unread_only")
	case !now.IsZero() && now.Sub(issued) > MaxAge:
		return fail("has aged: it is good for 10 minutes")
	}
	return Key{
		Unread: flags&flagUnread != 0,
		At:     int64(binary.BigEndian.Uint64(b[18:])),
		ID:     string(b[pageTokenHead:]),
	}, nil
}

// parse returns the token's bytes without the checksum.
func parse(token string) ([]byte, error) {
	if len(token) > 1024 {
		return nil, errMangled
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return nil, errMangled
	}
	n := len(b) - 4
	if n <= pageTokenHead || b[0] != pageTokenVersion ||
		!bytes.Equal(binary.BigEndian.AppendUint32(nil, crc32.Checksum(b[:n], castagnoli)), b[n:]) {
		return nil, errMangled
	}
	return b[:n], nil
}

func userHash(userID string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(userID))
	return h.Sum64()
}
