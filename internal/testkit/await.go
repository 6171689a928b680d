package testkit

import (
	"testing"
	"time"
)

// Await waits until ok says so; it looks every 5 ms. If that takes more than two minutes the test ends, with what it waited for;
// machines may be slow, and nothing is judged by it.
func Await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("within two minutes never: %s", what)
		}
	}
}
