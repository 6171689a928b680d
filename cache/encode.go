package cache

import (
	"strconv"
	"unicode/utf8"

	"github.com/tidemark/tidemark/events"
)

// appendValue appends the JSON of one channel in an inbox (DESIGN §8), which is also what the members of a published
// delta are after its ids. Every key is there, but for those that say nothing in a large channel. That of a thread has
// touched_at besides; what is large, muted or derived belongs to its channel, and is empty.
func appendValue(b []byte, d *events.UnreadDelta) []byte {
	b = append(b, '{')
	if !d.Large {
		b = appendUint(append(b, `"unread":`...), d.Unread)
		b = append(b, ',')
	}
	b = appendUint(append(b, `"mentions":`...), d.Mentions)
	b = appendUint(append(b, `,"offline_unread":`...), d.OfflineUnread)
	if !d.Large {
		b = appendString(append(b, `,"first_unread_id":`...), d.FirstUnread.MessageID)
	}
	b = appendUint(append(b, `,"last_read_seq":`...), d.LastRead.Seq)
	b = appendUint(append(b, `,"read_pos":`...), d.ReadPos)
	b = appendPositions(append(b, `,"excluded":"`...), d.Excluded)
	b = appendPositions(append(b, `","mentioned":"`...), d.Mentioned)
	b = append(b, '"')
	if !d.Large {
		b = appendUint(append(b, `,"latest_seq":`...), d.Latest.Seq)
		b = append(b, `,"latest_at":"`...)
		if d.Latest.Seq > 0 {
			b = appendTime(b, d.Latest.At)
		}
		b = append(b, '"')
	}
	b = strconv.AppendBool(append(b, `,"large":`...), d.Large)
	b = strconv.AppendBool(append(b, `,"muted":`...), d.Muted)
	b = appendUint(append(b, `,"read_epoch":`...), d.ReadEpoch)
	if len(d.ThreadID) > 0 {
		b = append(b, `,"touched_at":"`...)
		if d.TouchedAt > 0 {
			b = appendTime(b, d.TouchedAt)
		}
		b = append(b, '"')
	}
	b = appendStamp(append(b, `,"stamp":"`...), &d.Stamp)
	return append(b, `"}`...)
}

func appendUint(b []byte, v uint32) []byte { return strconv.AppendUint(b, uint64(v), 10) }

// appendStamp appends fold_version.m.r.d.
func appendStamp(b []byte, s *events.Stamp) []byte {
	b = appendUint(b, s.FoldVersion)
	b = strconv.AppendInt(append(b, '.'), s.M, 10)
	b = strconv.AppendInt(append(b, '.'), s.R, 10)
	return strconv.AppendInt(append(b, '.'), s.D, 10)
}

// appendUpdate appends what is published of a delta that was applied: its ids, whether the user is a member, and the
// rest as in an inbox.
func appendUpdate(b []byte, d *events.UnreadDelta) []byte {
	b = appendIDs(b, d)
	b = strconv.AppendBool(append(b, `"member":`...), d.Member)
	at := len(b)
	b = appendValue(b, d)
	b[at] = ',' // in the place of its brace
	return b
}

// appendChange appends what is published of a read pointer that moved. Where it is gone, id and time are empty.
func appendChange(b []byte, d *events.UnreadDelta) []byte {
	b = appendIDs(b, d)
	b = appendString(append(b, `"last_read_id":`...), d.LastRead.MessageID)
	b = append(b, `,"last_read_at":"`...)
	if d.LastRead.Seq > 0 {
		b = appendTime(b, d.LastReadAt)
	}
	b = appendString(append(b, `","instance_id":`...), d.InstanceID)
	return append(b, '}')
}

func appendIDs(b []byte, d *events.UnreadDelta) []byte {
	b = appendString(append(b, `{"user_id":`...), d.UserID)
	b = appendString(append(b, `,"channel_id":`...), d.ChannelID)
	if len(d.ThreadID) > 0 {
		b = appendString(append(b, `,"thread_id":`...), d.ThreadID)
	}
	return append(b, ',')
}

const hexDigits = "0123456789abcdef"

// appendString appends s, which must be valid UTF-8, as a JSON string. Only what JSON demands is escaped.
func appendString(b, s []byte) []byte {
	b = append(b, '"')
	from := 0
	for i, c := range s {
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		if c < 0x20 {
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		} else {
			b = append(b, '\\', c)
		}
		from = i + 1
	}
	return append(append(b, s[from:]...), '"')
}

// validID reports whether id can stand in keys.
func validID(id []byte) bool { return utf8.Valid(id) && events.ValidID(id) }
