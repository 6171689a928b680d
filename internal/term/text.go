package term

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// NameColumns is how many columns of the name of a channel or thread a table shows, because ids may
// have 255 bytes. --json has whole ids.
const NameColumns = 40

// Printable replaces characters that could move the cursor of a terminal, or change the direction
// of the following text, because previews and dead letters may contain anything.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError || turns(r) {
			return '·'
		}
		return r
	}, s)
}

// PrintableLines is Printable for text of several lines, such as an error: a line feed begins a new
// line.
func PrintableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Printable(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// turns reports whether r changes the direction of the following text, or ends a line.
func turns(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029
}

// Columns is the width of s on a terminal: two columns for East Asian characters and emoji, none
// for combining marks and joiners. A terminal that draws several emoji as one makes them narrower;
// most do not.
func Columns(s string) int {
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

// Cut shortens s to n columns of a terminal.
func Cut(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	space, end := n-1, 0 // one for the dots
	for i, r := range s {
		if space -= runeColumns(r); space < 0 {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	return s[:end] + "…"
}
