// Package jsonw appends the JSON that Tidemark writes by hand, on paths that write hundreds of
// thousands of values a second.
package jsonw

import (
	"time"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. s must be valid UTF-8. Only what JSON demands is
// escaped.
func AppendString[S []byte | string](b []byte, s S) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		if c < 0x20 {
			b = appendUnicode(b, rune(c))
		} else {
			b = append(b, '\\', c)
		}
		start = i + 1
	}
	return append(append(b, s[start:]...), '"')
}

// AppendSafe appends s as a JSON string that is safe inside of a script element: < > & DEL U+2028
// and U+2029 are escaped too. Each byte of invalid UTF-8 becomes U+FFFD.
func AppendSafe[S []byte | string](b []byte, s S) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c, size := rune(s[i]), 1
		if c >= utf8.RuneSelf {
			c, size = decodeRune(s[i:])
		}
		switch {
		case c == '"' || c == '\\':
			b = append(append(b, s[start:i]...), '\\', byte(c))
		case c == '\n':
			b = append(append(b, s[start:i]...), '\\', 'n')
		case c < 0x20, c == '<', c == '>', c == '&', c == 0x7F, c == '\u2028', c == '\u2029', c == utf8.RuneError && size == 1:
			b = appendUnicode(append(b, s[start:i]...), c)
		default:
			i += size
			continue
		}
		i += size
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

func appendUnicode(b []byte, r rune) []byte {
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

func decodeRune[S []byte | string](s S) (rune, int) {
	var four [utf8.UTFMax]byte
	return utf8.DecodeRune(four[:copy(four[:], s)])
}

// AppendTime appends Unix milliseconds, from 1970 to 9999, as RFC 3339 with milliseconds in UTC,
// without quotes.
func AppendTime(b []byte, millis int64) []byte {
	return time.UnixMilli(millis).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
}
