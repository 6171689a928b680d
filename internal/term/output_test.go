package term

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/query/queryv1"
)

func TestTablesAreAligned(t *testing.T) {
	table := NewTable("NAME", "COUNT>", "WHAT")
	table.Row("Zoë", 5, "x")
	table.Row("a", 1234567, "")
	table.Row("line\nbreak", 0, "\x1b[2J")
	var b bytes.Buffer
	if err := table.Print(&b); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"NAME          COUNT  WHAT\n" +
		"Zoë               5  x\n" +
		"a           1234567  -\n" +
		"line·break        0  ·[2J\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestClock(t *testing.T) {
	now := time.Now()
	if got := Clock(time.Time{}); got != "" {
		t.Errorf("no time: %q", got)
	}
	if got := Clock(now.UTC()); now.Day() == time.Now().Day() && len(got) != len("15:04:05") {
		t.Errorf("of today: %q", got)
	}
	if got := Clock(now.AddDate(0, 0, -3)); len(got) != len("2006-01-02 15:04:05") {
		t.Errorf("of another day: %q", got)
	}
}

func TestPlural(t *testing.T) {
	if Plural(1, "record") != "1 record" || Plural(int64(0), "record") != "0 records" || Plural(uint32(2), "record") != "2 records" {
		t.Error(Plural(1, "record"), Plural(0, "record"), Plural(2, "record"))
	}
}

// JSON output contains zeros, because programs read them.
func TestJSONHasItsZeros(t *testing.T) {
	var b bytes.Buffer
	if err := PrintProto(&b, &queryv1.Totals{}); err != nil {
		t.Fatal(err)
	}
	want := `{"unread":0,"mentions":0,"unread_channels":0,"thread_unread":0,"thread_mentions":0,"badge":0,"unread_threads":0,"flagged":0}` + "\n"
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := PrintJSON(&b, map[string]string{"a": "<&>"}); err != nil || b.String() != `{"a":"<&>"}`+"\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestMessagesOfAnExplanation(t *testing.T) {
	for _, c := range []struct {
		unread, unnamed uint32
		ids             []string
		want            string
	}{
		{0, 0, nil, "-"},
		{2, 0, []string{"a", "b"}, "a b"},
		{9, 2, []string{"c"}, "2 without an id (seeded, or older than the index) c and 6 more"},
	} {
		if got := MessageList(c.ids, c.unnamed, c.unread); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestIsTerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if IsTerminal(f) || IsTerminal(&strings.Builder{}) {
		t.Error("a file or a buffer is taken for a terminal")
	}
}
