package testkit

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// Output is what a program, or a logger, has written so far: it is written and looked at at the same time. The zero value is
// empty.
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

// String is all that was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Await waits until s was written. If it is not within a minute the test ends, with what was.
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
