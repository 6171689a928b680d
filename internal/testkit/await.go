package testkit

import (
	"testing"
	"time"
)

// Await waits until ok says so; it looks every 5 ms. If that takes more than a minute the test ends, with what it waited for.
func Await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("within a minute never: %s", what)
		}
	}
}
