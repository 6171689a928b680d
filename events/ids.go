package events

import (
	"encoding/binary"
	"strconv"
)

// MaxIDBytes is the length of the longest id.
const MaxIDBytes = 255

// PreviewRunes is the length of the longest preview, in characters (Unicode code points).
const PreviewRunes = 140

// ValidID reports whether id, which must be valid UTF-8, can be an id: 1 to MaxIDBytes bytes and no
// control characters (U+0000 to U+001F, U+007F to U+009F). Keys can therefore separate ids by 0x00,
// and an id never breaks a log line.
func ValidID(id []byte) bool {
	return len(id) > 0 && len(id) <= MaxIDBytes && !hasControl(id)
}

// hasControl reports whether valid UTF-8 contains a control character. It examines eight bytes at a
// time as one word while they are printable ASCII.
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

// oddities returns 0 exactly if all bytes of w are printable ASCII.
func oddities(w uint64) uint64 {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
	)
	// Each term sets the high bits of some bytes: of those that are not ASCII; of those below 0x20,
	// where a borrow may mark a neighbor as well; of 0x7F.
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

// required checks a required id.
func required(field string, id []byte) error {
	if ValidID(id) {
		return nil
	}
	return invalidID(field, id)
}

// optional checks an optional id.
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

// MaxLabels is how many labels a channel, or a user there, has at most.
const MaxLabels = 16

// MaxLabelBytes is the length of the longest label.
const MaxLabelBytes = 128

// checkLabels checks a list of labels, which may be empty.
func checkLabels(field string, labels [][]byte) error {
	if err := atMost(field, len(labels), MaxLabels); err != nil {
		return err
	}
	for i, l := range labels {
		if len(l) > 0 && len(l) <= MaxLabelBytes && !hasControl(l) {
			continue
		}
		e := invalidID(field+"["+strconv.Itoa(i)+"]", l)
		e.Reason = ReasonInvalidLabel
		if len(l) > MaxLabelBytes {
			e.Detail = quote(l) + " has " + strconv.Itoa(len(l)) + " bytes, at most " + strconv.Itoa(MaxLabelBytes) + " are allowed"
		}
		return e
	}
	return nil
}

// atMost checks the length of a list.
func atMost(field string, n, most int) error {
	if n <= most {
		return nil
	}
	return &Error{Reason: ReasonTooMany, Field: field, Detail: strconv.Itoa(n) + " entries, at most " + strconv.Itoa(most) + " are allowed"}
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
