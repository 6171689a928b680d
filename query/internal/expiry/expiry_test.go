package expiry

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// newClock returns a clock that must not panic.
func newClock(t *testing.T) *Clock {
	return New(time.Now, func(err *guard.Error) { t.Errorf("the clock: %v", err) })
}

// due waits for channels whose level has ended.
func due(t *testing.T, s *Stream) []string {
	t.Helper()
	select {
	case <-s.Signal():
		return slices.Sorted(slices.Values(s.Due()))
	case <-time.After(2 * time.Minute):
		t.Fatal("no level ended")
		return nil
	}
}

func TestStreamsHearOfTheirOwn(t *testing.T) {
	c := newClock(t)
	ann, bob := c.Stream(), c.Stream()
	now := time.Now().UnixMilli()
	ann.Put("late", now+time.Hour.Milliseconds())
	ann.Put("soon", now+time.Hour.Milliseconds())
	ann.Put("never", now+20)
	bob.Put("bob's", now+30)
	bob.Put("none", 0)
	ann.Put("soon", now+20) // instead of the former time
	ann.Put("never", 0)
	if got := due(t, ann); !slices.Equal(got, []string{"soon"}) {
		t.Errorf("of ann %v", got)
	}
	if got := due(t, bob); !slices.Equal(got, []string{"bob's"}) {
		t.Errorf("of bob %v", got)
	}
	ann.Put("soon", time.Now().UnixMilli()+10) // once more
	if got := due(t, ann); !slices.Equal(got, []string{"soon"}) {
		t.Errorf("of ann, again %v", got)
	}
	ann.Stop()
	bob.Stop()
	if n := c.set.Len(); n != 0 || c.streams != 0 {
		t.Errorf("%d levels and %d streams are left", n, c.streams)
	}
	ann = c.Stream() // the clock starts again
	defer ann.Stop()
	ann.Put("soon", time.Now().UnixMilli()+10)
	if got := due(t, ann); !slices.Equal(got, []string{"soon"}) {
		t.Errorf("after all had stopped %v", got)
	}
}

// A hundred thousand pending levels of a thousand streams cost one goroutine with one timer. The
// end of a level is reported within a second.
func TestManyLevelsCostOneTimer(t *testing.T) {
	c := newClock(t)
	before := runtime.NumGoroutine()
	later := time.Now().Add(time.Hour).UnixMilli()
	streams := make([]*Stream, 1000)
	for i := range streams {
		streams[i] = c.Stream()
		for j := range 100 {
			streams[i].Put(fmt.Sprint("c", j), later+int64(j))
		}
	}
	if n := runtime.NumGoroutine(); n > before+1 {
		t.Errorf("%d goroutines more", n-before)
	}
	if n := c.set.Len(); n != 100_000 {
		t.Errorf("%d are pending", n)
	}
	testkit.AtMost(t, "told after the end", time.Second, func() time.Duration {
		at := time.Now().Add(50 * time.Millisecond)
		streams[7].Put("soon", at.UnixMilli())
		if got := due(t, streams[7]); !slices.Equal(got, []string{"soon"}) {
			t.Errorf("told are %v", got)
		}
		return time.Since(at)
	})
	for _, s := range streams {
		s.Stop()
	}
	if n := c.set.Len(); n != 0 {
		t.Errorf("%d are left", n)
	}
}
