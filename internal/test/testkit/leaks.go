package testkit

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// LeakFree is the TestMain of a package whose code starts goroutines. It runs the tests, and fails
// if a goroutine still runs that the tests or the tested code should have ended.
//
//	func TestMain(m *testing.M) { testkit.LeakFree(m) }
//
// It ignores goroutines of the process, such as the one that waits for the broker that all tests of
// the binary share. It closes the idle connections of http.DefaultClient first.
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

// leakPatience is how long leaks waits for goroutines to end. Those of a connection end once its
// peer notices, and those of a closed store once their work is done.
const leakPatience = 20 * time.Second

// leaks reports the goroutines that still run after patience.
func leaks(patience time.Duration, ignore ...goleak.Option) error {
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport.CloseIdleConnections()
	}
	ignore = append(ignore,
		goleak.IgnoreAnyFunction("github.com/tidemark/tidemark/internal/test/testkit/servers.(*process).start.func1"),
	)
	deadline := time.Now().Add(patience)
	for {
		err := goleak.Find(ignore...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
