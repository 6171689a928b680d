package obs

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestSeldomSaysHowManyItLeftOut(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := NewSeldom(slog.New(slog.NewTextHandler(&out, nil)), func() time.Time { return now })
	for range 2500 { // one each millisecond
		s.Warn("refused", "why", "x")
		now = now.Add(time.Millisecond)
	}
	if n := strings.Count(out.String(), "left_out=999"); n != 2 {
		t.Errorf("%d lines stand for a second, want 2:\n%s", n, out.String())
	}
	if n := strings.Count(out.String(), "msg=refused"); n != 3 {
		t.Errorf("%d lines in 2.5 s, want 3:\n%s", n, out.String())
	}
}
