package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/query/queryv1"
)

func TestTablesAreAligned(t *testing.T) {
	table := newTable("NAME", "COUNT>", "WHAT")
	table.row("Zoë", 5, "x")
	table.row("a", 1234567, "")
	table.row("line\nbreak", 0, "\x1b[2J")
	var b bytes.Buffer
	if err := table.print(&b); err != nil {
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
	if got := clock(time.Time{}); got != "" {
		t.Errorf("no time: %q", got)
	}
	if got := clock(now.UTC()); now.Day() == time.Now().Day() && len(got) != len("15:04:05") {
		t.Errorf("of today: %q", got)
	}
	if got := clock(now.AddDate(0, 0, -3)); len(got) != len("2006-01-02 15:04:05") {
		t.Errorf("of another day: %q", got)
	}
}

func TestPlural(t *testing.T) {
	if plural(1, "record") != "1 record" || plural(int64(0), "record") != "0 records" || plural(uint32(2), "record") != "2 records" {
		t.Error(plural(1, "record"), plural(0, "record"), plural(2, "record"))
	}
}

// A zero is an answer: programs find it written out.
func TestJSONHasItsZeros(t *testing.T) {
	var b bytes.Buffer
	if err := printProto(&b, &queryv1.Totals{}); err != nil {
		t.Fatal(err)
	}
	want := `{"unread":0,"mentions":0,"unread_channels":0,"thread_unread":0,"thread_mentions":0}` + "\n"
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := printJSON(&b, map[string]string{"a": "<&>"}); err != nil || b.String() != `{"a":"<&>"}`+"\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestMessagesOfAnExplanation(t *testing.T) {
	for _, c := range []struct {
		unread int
		ids    []string
		want   string
	}{
		{0, nil, "-"},
		{2, []string{"a", "b"}, "a b"},
		{9, []string{"", "", "c"}, "2 older than the index c and 6 more"},
	} {
		if got := messageList(c.ids, c.unread); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A supervisor that signals a process and its group sends a signal twice: that is no second wish.
func TestOneSignalTwiceIsOne(t *testing.T) {
	signals := make(chan os.Signal, 2)
	signals <- os.Interrupt
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		secondSignal(signals, time.Now())
	}()
	select {
	case <-ended:
		t.Fatal("the same signal again ended the process")
	case <-time.After(50 * time.Millisecond):
	}
	close(signals)
	<-ended
	signals = make(chan os.Signal, 1)
	signals <- os.Interrupt
	secondSignal(signals, time.Now().Add(-2*sameSignal)) // returns
}

func TestIsTerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if isTerminal(f) || isTerminal(&strings.Builder{}) {
		t.Error("a file or a buffer is taken for a terminal")
	}
}
