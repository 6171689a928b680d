package cache

import (
	"strconv"
	"unicode/utf8"

	"github.com/tidemark/tidemark/events"
)

// appendValue appends the JSON of one channel in an inbox (DESIGN §8), which is also what the members of a published
// delta are after its ids. Every key is there, but for those that say nothing in a large channel.
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

// appendTime appends Unix milliseconds, from 1970 to 9999, as RFC 3339 with milliseconds in UTC.
func appendTime(b []byte, ms int64) []byte {
	const day = 24 * 60 * 60 * 1000
	days, rest := ms/day, ms%day
	// Years that begin in March have the leap day at their end; eras are 400 of them.
	z := days + 719468
	era := z / 146097
	doe := z % 146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	year, month, dom := yoe+era*400, mp+3, doy-(153*mp+2)/5+1
	if month > 12 {
		month -= 12
		year++
	}
	b = digits(digits(b, year/100), year%100)
	b = digits(append(b, '-'), month)
	b = digits(append(b, '-'), dom)
	b = digits(append(b, 'T'), rest/3_600_000)
	b = digits(append(b, ':'), rest/60_000%60)
	b = digits(append(b, ':'), rest/1000%60)
	b = append(b, '.', byte('0'+rest/100%10))
	return append(digits(b, rest%100), 'Z')
}

// digits appends two of them.
func digits(b []byte, v int64) []byte { return append(b, byte('0'+v/10), byte('0'+v%10)) }

// validID reports whether id can stand in keys.
func validID(id []byte) bool { return utf8.Valid(id) && events.ValidID(id) }
