package guard

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func bug() { panic("planted") }

// caught checks the error of a recovered panic.
func caught(t *testing.T, err error, where string) {
	t.Helper()
	e := Of(err)
	if e == nil || e.Where != where || e.Value != "planted" {
		t.Fatalf("%#v, want a panic of %s", err, where)
	}
	if text := e.Error(); !strings.Contains(text, where+" panicked: planted") || strings.Contains(text, "guard_test.go") {
		t.Errorf("the error says %q", text)
	}
	if !bytes.Contains(e.Stack, []byte("guard.bug")) {
		t.Errorf("the stack does not have who panicked:\n%s", e.Stack)
	}
}

func TestPanicBecomesAnError(t *testing.T) {
	caught(t, Err("a call", func() error { bug(); return nil }), "a call")
	caught(t, Do("a call", bug), "a call")
	failed := errors.New("failed")
	if err := Err("a call", func() error { return failed }); err != failed { //nolint:errorlint // the very same
		t.Errorf("an error became %v", err)
	}
	if err := Do("a call", func() {}); err != nil || Of(err) != nil {
		t.Errorf("success became %v", err)
	}
	if Of(failed) != nil {
		t.Error("an error counts as a panic")
	}
}

func TestRecoverKeepsTheErrorBefore(t *testing.T) {
	failed := errors.New("failed")
	err := func() (err error) {
		defer Recover("a call", &err)
		err = failed
		panic("planted")
	}()
	if !errors.Is(err, failed) {
		t.Errorf("%v is lost", failed)
	}
	caughtOnly := Of(err)
	if caughtOnly == nil {
		t.Fatalf("%v has no panic", err)
	}
}

// A panic that is recovered and raised again keeps its original stack.
func TestPanicThatGoesOn(t *testing.T) {
	inner := Do("the inner", bug)
	caught(t, Do("the outer", func() { panic(inner) }), "the inner")
}

func TestGoroutines(t *testing.T) {
	for name, start := range map[string]func(onPanic func(*Error), f func()){
		"Go":        func(onPanic func(*Error), f func()) { Go("a goroutine", onPanic, f) },
		"AfterFunc": func(onPanic func(*Error), f func()) { AfterFunc(time.Nanosecond, "a goroutine", onPanic, f) },
		"OnDone": func(onPanic func(*Error), f func()) {
			ctx, cancel := context.WithCancel(t.Context())
			OnDone(ctx, "a goroutine", onPanic, f)
			cancel()
		},
	} {
		heard := make(chan error)
		var mu sync.Mutex
		start(func(e *Error) { heard <- e }, func() {
			mu.Lock()
			defer mu.Unlock()
			bug()
		})
		caught(t, <-heard, "a goroutine")
		if !mu.TryLock() {
			t.Errorf("%s: what f deferred has not run", name)
		}
		ended := make(chan struct{})
		start(func(*Error) { t.Errorf("%s: a panic out of nothing", name) }, func() { close(ended) })
		<-ended
		// The handler of the panic may panic, too.
		start(func(*Error) { defer close(heard); bug() }, bug)
		for range heard { // until it is closed
			t.Errorf("%s: heard of it twice", name)
		}
	}
}

func TestGroup(t *testing.T) {
	g, ctx := WithContext(t.Context())
	g.SetLimit(2)
	g.Go("one file", func() error { bug(); return nil })
	g.Go("another", func() error { <-ctx.Done(); return nil })
	caught(t, g.Wait(), "one file")
	g, _ = WithContext(t.Context())
	g.Go("one file", func() error { return nil })
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
