package main

import (
	"strings"
	"testing"
)

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "ann": 3, "Zoë": 3, "Zoe\u0308": 3, "部署": 4, "🎉-party": 8, "עברית": 5, "ｆｕｌｌ": 8, "a\u200db": 2, "❤\ufe0f": 1, "·": 1, "…": 1,
	} {
		if got := columns(s); got != want {
			t.Errorf("%q is %d columns wide, want %d", s, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"ééééé", 5, "ééééé"}, {"éééééé", 5, "éééé…"}, {"", 3, ""},
		{"部署部", 6, "部署部"}, {"部署部", 5, "部署…"}, {"部署部", 4, "部…"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"ab\xffcd", 4, "ab\xff…"},
	} {
		if got := cut(printable(c.s), c.n); got != printable(c.want) || columns(got) > c.n {
			t.Errorf("%q to %d columns: %q, want %q", c.s, c.n, got, printable(c.want))
		}
	}
}

// What a sender wrote moves no cursor, and turns no text but its own.
func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"plain": "plain", "two\nlines\t": "two·lines·", "\x1b[2J": "·[2J", "\u009b2J": "·2J", "evil \u202egnp.exe": "evil ·gnp.exe",
		"\u2067x\u2069\u2028": "·x··", "\xff": "·", "مرحبا": "مرحبا", "👩\u200d👧": "👩\u200d👧",
	} {
		if got := printable(s); got != want {
			t.Errorf("%q is printed as %q, want %q", s, got, want)
		}
	}
}

// Names of any script leave the columns behind them where they are, and no name pushes them off the screen.
func TestTablesOfAllScripts(t *testing.T) {
	table := newTable("NAME", "COUNT>", "WHAT")
	for _, name := range []string{"部署チャンネル", "🎉-party", "Zoe\u0308", cut(strings.Repeat("long", 40), nameColumns)} {
		table.row(name, 5, "x")
	}
	for _, l := range table.lines()[1:] {
		if at := columns(l[:strings.LastIndex(l, "x")]); at != nameColumns+len("  COUNT  ") {
			t.Errorf("%q: the last column is at %d", l, at)
		}
	}
}
