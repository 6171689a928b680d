package loglimit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestLimiter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var l Limiter
	if n := l.Due(now); n != 0 || !l.Next().IsZero() {
		t.Errorf("%d events out of nothing, next at %v", n, l.Next())
	}
	lines, logged := 0, 0
	for range 2500 { // one each millisecond
		l.Add(1)
		if n := l.Due(now); n > 0 {
			lines++
			logged += n
		}
		now = now.Add(time.Millisecond)
	}
	if lines != 3 || logged != 2001 {
		t.Errorf("%d lines for %d events in 2.5 s, want 3 for 2001", lines, logged)
	}
	if next := l.Next(); next.Sub(now) != 500*time.Millisecond {
		t.Errorf("the next line is due in %v", next.Sub(now))
	}
	if n := l.Rest(); n != 499 || l.Rest() != 0 {
		t.Errorf("%d events were left, want 499", n)
	}
}

// A line is about the last of its events, and is written once.
func TestLines(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var l Lines[string]
	var lines []string
	write := func(last string, count int) { lines = append(lines, fmt.Sprint(last, count)) }
	l.Due(now, write)
	l.Rest(write)
	l.Add(2, "a")
	l.Due(now, write)
	l.Add(1, "b")
	l.Add(3, "c")
	l.Due(now.Add(time.Second-1), write)
	if next := l.Next(); !next.Equal(now.Add(Every)) {
		t.Errorf("the next line is due at %v", next)
	}
	l.Due(now.Add(time.Second), write)
	l.Add(1, "d")
	l.Rest(write)
	l.Rest(write)
	if got := strings.Join(lines, " "); got != "a2 c4 d1" {
		t.Errorf("lines %q", got)
	}
}
