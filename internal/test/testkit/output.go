package testkit

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// Output collects what a program or a logger writes. It may be read while it is written. The zero
// value is empty.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer. It does not fail.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

// String returns everything that was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Await waits until s was written. After a minute the test fails and prints the output.
func (o *Output) Await(t testing.TB, s string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		o.mu.Lock()
		there := bytes.Contains(o.b.Bytes(), []byte(s))
		o.mu.Unlock()
		if there {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q did not come:\n%s", s, o)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
