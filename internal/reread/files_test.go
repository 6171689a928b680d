package reread

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, now, now); err != nil {
			t.Fatal(err)
		}
	}
	write(a, "one")
	var f Files
	f.Begin(now, a, b) // b does not exist yet
	changes := func(what string, want bool) {
		t.Helper()
		if f.Changed() != want {
			t.Errorf("%s: changed is %v, want %v", what, !want, want)
		}
	}
	if f.Look(now.Add(Every - 1)) {
		t.Error("looked at twice within a second")
	}
	now = now.Add(Every)
	if !f.Look(now) || f.Look(now) {
		t.Error("after a second it is time for one look")
	}
	changes("nothing was done", false)
	write(b, "new")
	changes("a file has come", true)
	f.Begin(now, a, b)
	changes("it was read", false)
	write(a, "longer")
	changes("another size", true)
	f.Begin(now, a, b)
	now = now.Add(time.Minute)
	write(a, "LONGER")
	changes("another time", true)
	f.Begin(now, a, b)
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	changes("a file has gone", true)
	f.Begin(now, a, b)
	if !f.Read(errors.New("half")) || f.Read(errors.New("half")) || !f.Read(errors.New("other")) {
		t.Error("a failure is news once")
	}
	changes("it could not be used", true)
	if f.Read(nil) {
		t.Error("a reading that succeeds is no failure")
	}
	changes("it could be used", false)
}
