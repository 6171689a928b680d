package obs

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A change of the level applies to the logger and to loggers made from it at once, and ends by
// itself.
func TestTheLevelChangesForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		l, err := NewLevel("info")
		if err != nil {
			t.Fatal(err)
		}
		log, err := NewLoggerAt(&b, FormatText, l)
		if err != nil {
			t.Fatal(err)
		}
		part := log.With("role", "query").WithGroup("g")
		lines := func() int {
			b.Reset()
			log.Debug("one")
			part.Debug("two")
			log.Info("three")
			log.Warn("four")
			return strings.Count(b.String(), "\n")
		}
		wants := func(want int, state string) {
			t.Helper()
			s := l.State()
			text := s.Level + "/" + s.Usual
			if s.Until != nil {
				text += " " + time.Until(*s.Until).String()
			}
			if n := lines(); n != want || text != state {
				t.Errorf("%d lines, %s; want %d, %s", n, text, want, state)
			}
		}
		wants(2, "info/info")
		if err := l.Set("debug", time.Minute); err != nil {
			t.Fatal(err)
		}
		wants(4, "debug/info 1m0s")
		time.Sleep(time.Minute - time.Nanosecond)
		wants(4, "debug/info 1ns")
		time.Sleep(time.Nanosecond)
		wants(2, "info/info")
		if err := l.Set("warn", 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1000 * time.Hour)
		wants(1, "warn/info")
		if err := l.Set("loud", 0); err == nil || !strings.Contains(err.Error(), "want debug, info, warn or error") {
			t.Error(err)
		}
		wants(1, "warn/info")
		l.Reset()
		wants(2, "info/info")
	})
}

// The question whether a line is logged allocates nothing.
func TestTheLevelCostsNothing(t *testing.T) {
	l, err := NewLevel("info")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	log, err := NewLoggerAt(&b, FormatText, l)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { log.Debug("one") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
