package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// nameColumns is how much of the name of a channel or a thread a table shows: ids may have 255 bytes. --json has them whole.
const nameColumns = 40

// printable replaces what could move the cursor of a terminal, or turn the direction of the text behind it: previews and dead
// letters may contain anything.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError || turns(r) {
			return '·'
		}
		return r
	}, s)
}

// turns reports whether r changes the direction of what follows, or ends a line.
func turns(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029
}

// columns is how wide a terminal draws s: two columns for East Asian characters and emoji, none for marks upon others and
// joiners. A terminal that draws several emoji as one makes them narrower; most do not.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case r >= 0x20 && r < 0x7f:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut shortens s to what n columns of a terminal hold.
func cut(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	room, end := n-1, 0 // one for the dots
	for i, r := range s {
		if room -= runeColumns(r); room < 0 {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	return s[:end] + "…"
}
