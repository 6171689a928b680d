package frames

import (
	"strconv"

	"github.com/tidemark/tidemark/internal/jsonw"
)

// Frames are encoded by hand: they have few forms, and hundreds of thousands are written per
// second.

// Key appends ,"name": (without the comma after an opening brace).
func Key(b []byte, name string) []byte {
	if last := b[len(b)-1]; last != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// Text appends a string.
func Text[S []byte | string](b []byte, name string, s S) []byte {
	return jsonw.AppendSafe(Key(b, name), s)
}

// TextIf is Text, but appends nothing if the string is empty.
func TextIf[S []byte | string](b []byte, name string, s S) []byte {
	if len(s) == 0 {
		return b
	}
	return Text(b, name, s)
}

// Number appends an unsigned number.
func Number(b []byte, name string, n uint64) []byte { return strconv.AppendUint(Key(b, name), n, 10) }

// Bool appends true or false.
func Bool(b []byte, name string, v bool) []byte { return strconv.AppendBool(Key(b, name), v) }

// Instant appends a time, given in Unix milliseconds, as RFC 3339 in UTC.
func Instant(b []byte, name string, millis int64) []byte {
	return append(jsonw.AppendTime(append(Key(b, name), '"'), millis), '"')
}

// Begin starts a frame of a type.
func Begin(b []byte, kind string) []byte {
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	return append(b, '"')
}
