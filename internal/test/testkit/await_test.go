package testkit

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// ended records the message of a failure instead of failing.
type ended struct {
	testing.TB
	words string
}

func (*ended) Helper() {}

func (e *ended) Fatalf(format string, args ...any) {
	e.words = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// TestAwait: Await returns as soon as its condition holds, and otherwise fails with what it waited
// for.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		Await(t, "half a minute", func() bool { return time.Since(begun) >= 30*time.Second })
		if took := time.Since(begun); took > 31*time.Second {
			t.Errorf("what came after 30 s was seen after %v", took)
		}
		e, done := &ended{TB: t}, make(chan struct{})
		begun = time.Now()
		go func() {
			defer close(done)
			Await(e, "the moon", func() bool { return false })
			t.Error("it went on without")
		}()
		<-done
		if took := time.Since(begun); e.words != "within two minutes never: the moon" || took < 2*time.Minute || took > 121*time.Second {
			t.Errorf("%q after %v", e.words, took)
		}
	})
}
