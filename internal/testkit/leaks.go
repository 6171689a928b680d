package testkit

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// LeakFree is the TestMain of a package whose code starts goroutines: it runs the tests and then fails if a goroutine is
// left that the tests, or what they have tested, should have ended.
//
//	func TestMain(m *testing.M) { testkit.LeakFree(m) }
//
// What belongs to the process, not to a test, is left out: the wait for the broker that all tests of the binary share.
// Connections that http.DefaultClient keeps for the next request are closed first.
func LeakFree(m *testing.M, ignore ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := leaks(leakPatience, ignore...); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left after the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leakPatience is for how long goroutines that are left are looked at again: those of a connection end when its other end
// has noticed, those of a closed store with what they are doing.
const leakPatience = 20 * time.Second

// leaks says which goroutines there still are after patience.
func leaks(patience time.Duration, ignore ...goleak.Option) error {
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport.CloseIdleConnections()
	}
	ignore = append(ignore,
		goleak.IgnoreAnyFunction("github.com/tidemark/tidemark/internal/testkit/servers.(*process).start.func1"),
	)
	deadline := time.Now().Add(patience)
	for {
		err := goleak.Find(ignore...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
