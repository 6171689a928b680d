package gateway

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// Frames are written by hand: the same few shapes, hundreds of thousands a second.

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD; what could end a script element or a line of
// JavaScript is escaped.
func appendString[S []byte | string](b []byte, s S) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && c != 0x7F {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := decodeRune(s[i:])
		if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
			b = append(b, s[start:i]...)
			b = append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			i += size
			start = i
			continue
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func decodeRune[S []byte | string](s S) (rune, int) {
	var four [utf8.UTFMax]byte
	return utf8.DecodeRune(four[:copy(four[:], s)])
}

// key appends ,"name": (without the comma after an opening brace).
func key(b []byte, name string) []byte {
	if last := b[len(b)-1]; last != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func text[S []byte | string](b []byte, name string, s S) []byte { return appendString(key(b, name), s) }

// textIf leaves out what is empty.
func textIf[S []byte | string](b []byte, name string, s S) []byte {
	if len(s) == 0 {
		return b
	}
	return text(b, name, s)
}

func number(b []byte, name string, n uint64) []byte { return strconv.AppendUint(key(b, name), n, 10) }

func boolean(b []byte, name string, v bool) []byte { return strconv.AppendBool(key(b, name), v) }

// instant writes Unix milliseconds as RFC 3339 in UTC.
func instant(b []byte, name string, millis int64) []byte {
	b = append(key(b, name), '"')
	b = time.UnixMilli(millis).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return append(b, '"')
}

// begin starts a frame of a type.
func begin(b []byte, kind string) []byte {
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	return append(b, '"')
}
