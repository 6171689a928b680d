package testkit

import (
	"testing"
	"time"
)

// Await waits until ok returns true, and calls it every 5 ms. After two minutes the test fails with
// what. The limit is long because machines may be slow.
func Await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("within two minutes never: %s", what)
		}
	}
}
