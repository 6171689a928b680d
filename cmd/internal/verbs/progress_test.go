package verbs

import (
	"bytes"
	"testing"
	"time"

	"github.com/tidemark/tidemark/processor"
)

// newProgress returns a progress whose last line is this old.
func newProgress(ago time.Duration) (*Progress, *bytes.Buffer) {
	var b bytes.Buffer
	p := NewProgress(&App{Stderr: &b}, "copy")
	p.printed = time.Now().Add(-ago)
	return p, &b
}

// A line is written every five seconds at most; control characters do not reach the terminal.
func TestPhase(t *testing.T) {
	p, b := newProgress(time.Second)
	p.Phase("reading", 1, 2)
	if b.Len() > 0 {
		t.Errorf("after a second %q", b)
	}
	for _, c := range []struct {
		what        string
		done, total int
		want        string
	}{
		{"reading", 3, 10, "copy: reading, 3 of 10\n"},
		{"reading", 3, 0, "copy: reading, 3\n"},
		{"reading", 0, 0, "copy: reading\n"},
		{"a\x1b[2Jb", 0, 0, "copy: a·[2Jb\n"},
	} {
		p, b := newProgress(6 * time.Second)
		p.Phase(c.what, c.done, c.total)
		p.Phase("at once", 1, 1)
		if b.String() != c.want {
			t.Errorf("%+v: %q", c, b)
		}
	}
	p, b = newProgress(6 * time.Second)
	p.terminal = true
	p.Phase("reading", 1, 2)
	if b.String() != "\r\x1b[Kcopy: reading, 1 of 2" {
		t.Errorf("on a terminal %q", b)
	}
}

// A walk reports its rate, and the rest if the end is known.
func TestWalk(t *testing.T) {
	p, b := newProgress(time.Second)
	p.Walk("messages", 10, 100)
	if b.Len() > 0 {
		t.Errorf("after a second %q", b)
	}
	p.begun, p.printed = time.Now().Add(-10*time.Second), time.Now().Add(-6*time.Second)
	p.Walk("messages", 1000, 3000)
	if got := b.String(); got != "copy: messages, 1000 of 3000, 100/s, 20s left\n" && got != "copy: messages, 1000 of 3000, 100/s, 19s left\n" {
		t.Errorf("half way %q", got)
	}
	b.Reset()
	p.printed = time.Now().Add(-6 * time.Second)
	p.Walk("reading", 0, 0)
	if b.String() != "copy: reading, 0, 0/s\n" {
		t.Errorf("a new phase %q", b)
	}
	b.Reset()
	p.End()
	p.terminal = true
	p.End()
	if b.String() != "\r\x1b[K" {
		t.Errorf("at the end %q", b)
	}
}

// The end of a rebuild is always reported, and ends the terminal's line.
func TestRebuildProgress(t *testing.T) {
	half := processor.RebuildProgress{Partitions: 4, Finished: 2, Done: 1, Total: 3, Rate: 10, ETA: 90 * time.Second}
	end := processor.RebuildProgress{Partitions: 4, Finished: 4, Done: 3, Total: 3, Rate: 10}
	p, b := newProgress(time.Second)
	p.Rebuild(half)
	p.Rebuild(end)
	if want := "copy: 100.0%, 3 of 3 records, 10/s\n"; b.String() != want {
		t.Errorf("%q, want %q", b, want)
	}
	p, b = newProgress(6 * time.Second)
	p.terminal = true
	p.Rebuild(half)
	p.Rebuild(end)
	if want := "\r\x1b[Kcopy: 33.3%, 1 of 3 records, 10/s, 1m30s left\r\x1b[Kcopy: 100.0%, 3 of 3 records, 10/s\n"; b.String() != want {
		t.Errorf("%q, want %q", b, want)
	}
	p, b = newProgress(0)
	p.Rebuild(processor.RebuildProgress{})
	if want := "copy: 100.0%, 0 of 0 records, 0/s\n"; b.String() != want {
		t.Errorf("with nothing to do %q, want %q", b, want)
	}
}
