package query

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/fnv"
	"strings"
	"time"
)

const (
	defaultPageSize = 50
	maxPageSize     = 1000
	// pageTokenAge bounds how long a token is good for: an inbox that is paged over hours shows nothing coherent.
	pageTokenAge = 10 * time.Minute

	pageTokenVersion = 1
	pageTokenHead    = 1 + 1 + 8 + 8 + 8 // version, flags, issued, scope, activity
	flagUnread       = 1 << 0
	flagUnreadOnly   = 1 << 1
)

// sortKey is where a channel stands in an inbox: unread first, then newest activity, ties by channel id.
type sortKey struct {
	unread    bool
	at        int64 // Unix milliseconds of the latest message, 0 = none
	channelID string
}

// before reports whether a channel with key k is listed before one with key o.
func (k sortKey) before(o sortKey) bool {
	switch {
	case k.unread != o.unread:
		return k.unread
	case k.at != o.at:
		return k.at > o.at
	}
	return k.channelID < o.channelID
}

func (k sortKey) compare(o sortKey) int {
	switch {
	case k.before(o):
		return -1
	case o.before(k):
		return 1
	}
	return strings.Compare(k.channelID, o.channelID)
}

// A page token is a position in the order, not a count: what changes between two pages is listed where it then belongs,
// what does not is listed exactly once. It is bound to user and filter, and its checksum tells a mangled one from an
// aged one. It grants nothing, so it needs no signature.
//
//	version 1 | flags 1 | issued ms 8 | fnv64a(user) 8 | activity ms 8 | channel id | crc32c 4      (big endian)

func encodePageToken(userID string, unreadOnly bool, last sortKey, now time.Time) string {
	b := make([]byte, 0, pageTokenHead+len(last.channelID)+4)
	var flags byte
	if last.unread {
		flags |= flagUnread
	}
	if unreadOnly {
		flags |= flagUnreadOnly
	}
	b = append(b, pageTokenVersion, flags)
	b = binary.BigEndian.AppendUint64(b, uint64(now.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, userHash(userID))
	b = binary.BigEndian.AppendUint64(b, uint64(last.at))
	b = append(b, last.channelID...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errMangled = errors.New("not a token of this service")

// decodePageToken returns the last key of the page before. The zero now skips the test of age.
func decodePageToken(token, userID string, unreadOnly bool, now time.Time) (sortKey, error) {
	fail := func(why string) (sortKey, error) {
		return sortKey{}, invalid("page_token %s: start again without page_token", why)
	}
	b, err := parsePageToken(token)
	if err != nil {
		return fail("is no next_page_token of this service")
	}
	flags := b[1]
	issued := time.UnixMilli(int64(binary.BigEndian.Uint64(b[2:])))
	switch {
	case binary.BigEndian.Uint64(b[10:]) != userHash(userID):
		return fail("belongs to another user_id")
	case flags&flagUnreadOnly != 0 != unreadOnly:
		return fail("was made with another unread_only")
	case !now.IsZero() && now.Sub(issued) > pageTokenAge:
		return fail("has aged: it is good for 10 minutes")
	}
	return sortKey{
		unread:    flags&flagUnread != 0,
		at:        int64(binary.BigEndian.Uint64(b[18:])),
		channelID: string(b[pageTokenHead:]),
	}, nil
}

// parsePageToken returns the token's bytes without the checksum.
func parsePageToken(token string) ([]byte, error) {
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
