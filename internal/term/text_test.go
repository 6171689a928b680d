package term

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/query/queryv1"
)

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "ann": 3, "Zoë": 3, "Zoe\u0308": 3, "部署": 4, "🎉-party": 8, "עברית": 5, "ｆｕｌｌ": 8, "a\u200db": 2, "❤\ufe0f": 1, "·": 1, "…": 1,
	} {
		if got := Columns(s); got != want {
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
		if got := Cut(Printable(c.s), c.n); got != Printable(c.want) || Columns(got) > c.n {
			t.Errorf("%q to %d columns: %q, want %q", c.s, c.n, got, Printable(c.want))
		}
	}
}

// Text of a sender cannot move the cursor, or change the direction of other text.
func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"plain": "plain", "two\nlines\t": "two·lines·", "\x1b[2J": "·[2J", "\u009b2J": "·2J", "evil \u202egnp.exe": "evil ·gnp.exe",
		"\u2067x\u2069\u2028": "·x··", "\xff": "·", "مرحبا": "مرحبا", "👩\u200d👧": "👩\u200d👧",
	} {
		if got := Printable(s); got != want {
			t.Errorf("%q is printed as %q, want %q", s, got, want)
		}
	}
}

// Names in any script keep the columns after them aligned, and no name pushes them off the screen.
func TestTablesOfAllScripts(t *testing.T) {
	table := NewTable("NAME", "COUNT>", "WHAT")
	for _, name := range []string{"部署チャンネル", "🎉-party", "Zoe\u0308", Cut(strings.Repeat("long", 40), NameColumns)} {
		table.Row(name, 5, "x")
	}
	for _, l := range table.Lines()[1:] {
		if at := Columns(l[:strings.LastIndex(l, "x")]); at != NameColumns+len("  COUNT  ") {
			t.Errorf("%q: the last column is at %d", l, at)
		}
	}
}

// Text of others cannot move the cursor, in JSON either, and the JSON still decodes to the same
// text.
func TestJSONMovesNoCursor(t *testing.T) {
	const evil = "\x1b[2J\u009b2J\u0085\u202e\u2028\x7f 部\u200d"
	var out strings.Builder
	if err := PrintJSON(&out, map[string]string{"x": evil}); err != nil {
		t.Fatal(err)
	}
	if err := PrintProto(&out, &queryv1.GetUnreadRequest{UserId: evil}); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		if Printable(line) != line {
			t.Errorf("%q", line)
		}
		got := map[string]any{}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if got["x"] != evil && got["user_id"] != evil {
			t.Errorf("%q says %q", line, got)
		}
	}
	if got := PrintableLines("a\n\tb\x1b[2J\u009b"); got != "a\n    b·[2J·" {
		t.Errorf("%q", got)
	}
}
