package loglimit

import (
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
