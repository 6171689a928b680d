package client

import (
	"fmt"
	"strconv"
	"strings"
)

// stamp is how far the state of a value was folded: fold_version.m.r.d.
type stamp [4]uint64

// parseStamp reads a stamp. Any other text is an error, because a wrong stamp would let an old
// value replace a new one.
func parseStamp(text string) (stamp, error) {
	parts := strings.Split(text, ".")
	var s stamp
	if len(parts) != len(s) {
		return s, fmt.Errorf("client: stamp %q is not fold_version.m.r.d", text)
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return s, fmt.Errorf("client: stamp %q is not fold_version.m.r.d", text)
		}
		s[i] = n
	}
	return s, nil
}

// dominates reports whether every part of s is at least the same part of o.
func (s stamp) dominates(o stamp) bool {
	for i := range s {
		if s[i] < o[i] {
			return false
		}
	}
	return true
}

// older reports whether a value with the stamp `is` is older than one with the stamp `was`.
func older(was, is string) bool {
	if was == "" || is == "" || was == is {
		return false
	}
	a, err1 := parseStamp(was)
	b, err2 := parseStamp(is)
	return err1 == nil && err2 == nil && a.dominates(b)
}
