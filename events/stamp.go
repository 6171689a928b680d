package events

import (
	"fmt"
	"strconv"
	"strings"
)

// Stamp states how far the inputs of one value had been folded (DESIGN §7). M, R and D are next
// offsets: one more than the offset of the channel's last message event, and of the user's last
// read and delivery event in the channel. Zero means that there was no such event.
type Stamp struct {
	FoldVersion uint32
	M, R, D     int64
}

// Dominates reports whether no part of s is less than the same part of o. Only then may a value
// with stamp s replace one with stamp o.
func (s Stamp) Dominates(o Stamp) bool {
	return s.FoldVersion >= o.FoldVersion && s.M >= o.M && s.R >= o.R && s.D >= o.D
}

// Append appends the text form of s: fold_version.m.r.d.
func (s Stamp) Append(b []byte) []byte {
	b = strconv.AppendUint(b, uint64(s.FoldVersion), 10)
	for _, next := range [...]int64{s.M, s.R, s.D} {
		b = strconv.AppendInt(append(b, '.'), next, 10)
	}
	return b
}

// String returns the text form of s: fold_version.m.r.d.
func (s Stamp) String() string { return string(s.Append(nil)) }

// ParseStamp reads the text form of a stamp.
func ParseStamp(text string) (Stamp, error) {
	var parts [4]int64
	rest := text
	for i := range parts {
		part, after, more := strings.Cut(rest, ".")
		v, err := strconv.ParseInt(part, 10, 64)
		if err != nil || v < 0 || more != (i < 3) || i == 0 && v > 1<<32-1 {
			return Stamp{}, fmt.Errorf("%q is not fold_version.m.r.d", shorten(text))
		}
		parts[i], rest = v, after
	}
	return Stamp{FoldVersion: uint32(parts[0]), M: parts[1], R: parts[2], D: parts[3]}, nil
}

// shorten cuts a text that an error quotes to 60 bytes.
func shorten(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
