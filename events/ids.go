package events

import (
	"encoding/binary"
	"strconv"
)

// MaxIDBytes is the length of the longest id.
const MaxIDBytes = 255

// PreviewRunes is the length of the longest preview, in characters (Unicode code points).
const PreviewRunes = 140

// ValidID reports whether id, which must be valid UTF-8, can be an id: 1 to MaxIDBytes bytes and no control characters
// (U+0000 to U+001F, U+007F to U+009F). So 0x00 separates ids in keys, and an id never breaks a line.
func ValidID(id []byte) bool {
	return len(id) > 0 && len(id) <= MaxIDBytes && !hasControl(id)
}

// hasControl reports whether valid UTF-8 contains a control character. Eight bytes at a time are looked at as one word
// while they are printable ASCII.
func hasControl(b []byte) bool {
	for len(b) >= 8 && oddities(binary.LittleEndian.Uint64(b)) == 0 {
		b = b[8:]
	}
	for i, c := range b {
		if c < 0x20 || c == 0x7F || c == 0xC2 && i+1 < len(b) && b[i+1] < 0xA0 {
			return true
		}
	}
	return false
}

// oddities is not 0 if one of the bytes of w is no printable ASCII. It may be so beside a byte that is 0x20.
func oddities(w uint64) uint64 {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
	)
	// The high bit of a byte of each term: not ASCII; below 0x20, where a borrow may mark a neighbour; 0x7F.
	del := w ^ 0x7F*ones
	return (w | (w - 0x20*ones) | (del-ones)&^del) & high
}

// invalidID explains what ValidID refused.
func invalidID(field string, id []byte) *Error {
	e := &Error{Reason: ReasonInvalidID, Field: field}
	switch {
	case len(id) == 0:
		e.Detail = "missing"
	case len(id) > MaxIDBytes:
		e.Detail = quote(id) + " has " + strconv.Itoa(len(id)) + " bytes, at most " + strconv.Itoa(MaxIDBytes) + " are allowed"
	default:
		e.Detail = quote(id) + " has a control character"
	}
	return e
}

// required checks an id that must be there.
func required(field string, id []byte) error {
	if ValidID(id) {
		return nil
	}
	return invalidID(field, id)
}

// optional checks an id that may be left out.
func optional(field string, id []byte) error {
	if len(id) == 0 || ValidID(id) {
		return nil
	}
	return invalidID(field, id)
}

// each checks the ids of a list.
func each(field string, ids [][]byte) error {
	for i, id := range ids {
		if !ValidID(id) {
			return invalidID(field+"["+strconv.Itoa(i)+"]", id)
		}
	}
	return nil
}

// cutPreview shortens valid UTF-8 to PreviewRunes characters, without copying.
func cutPreview(p []byte) []byte {
	if len(p) <= PreviewRunes {
		return p
	}
	runes := 0
	for i, c := range p {
		if c&0xC0 == 0x80 { // inside a character
			continue
		}
		if runes == PreviewRunes {
			return p[:i:i]
		}
		runes++
	}
	return p
}
