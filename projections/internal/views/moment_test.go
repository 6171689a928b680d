package views_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tidemark/tidemark/projections/internal/views"
)

// However an answer ends that reads the store, it ends its moment exactly once. The closing of the
// store waits for that.
func TestMomentsEnd(t *testing.T) {
	disk := errors.New("the disk is gone")
	gone, cancel := context.WithCancelCause(t.Context())
	left := errors.New("nobody waits for the answer")
	cancel(left)
	for name, c := range map[string]struct {
		ctx                 context.Context
		plant               func(*alone)
		receipts, explained error // receipts have nothing to read here, and an explanation's log is in memory
	}{
		"answered":          {ctx: t.Context(), plant: func(*alone) {}},
		"the store closes":  {ctx: t.Context(), plant: func(a *alone) { a.stored.Closing.Store(true) }, explained: views.ErrClosing},
		"nobody waits":      {ctx: gone, plant: func(*alone) {}, explained: left},
		"the store is torn": {ctx: t.Context(), plant: func(a *alone) { a.store.err = disk }, receipts: disk},
	} {
		t.Run(name, func(t *testing.T) {
			a := tell(t, "a, u join\na posts m1\na posts m2")
			receipts, ok := a.BeginReceipts("c", "m1", 0, views.NewReceiptsMemory(10))
			explained, known := a.BeginExplain("u", "c")
			if !ok || !known || a.store.begun != 2 {
				t.Fatalf("begun: %v, %v, with %d iterators", ok, known, a.store.begun)
			}
			c.plant(a)
			if _, err := receipts.End(c.ctx); !errors.Is(err, c.receipts) {
				t.Errorf("receipts: %v", err)
			}
			if _, err := explained.End(c.ctx); !errors.Is(err, c.explained) {
				t.Errorf("an explanation: %v", err)
			}
			ended(t, a)
			if err := a.fold.Err(); !errors.Is(err, c.receipts) { // an error of the store is the partition's error
				t.Errorf("the partition fails with %v", err)
			}
		})
	}
}

// A panic while the store is read reaches the caller, and the moment has ended.
func TestAPanicEndsItsMoment(t *testing.T) {
	a := tell(t, "a, u join\na posts m1")
	w, ok := a.BeginReceipts("c", "m1", 0, views.NewReceiptsMemory(10))
	if !ok {
		t.Fatal("no such message")
	}
	a.store.seek = func() { panic("planted") }
	func() {
		defer func() {
			if v := recover(); v != "planted" {
				t.Errorf("recovered %v", v)
			}
		}()
		_, err := w.End(t.Context())
		t.Errorf("answered with %v", err)
	}()
	ended(t, a)
}

// Views that are dropped release the store without reading it.
func TestDroppedViews(t *testing.T) {
	a := tell(t, "a, u join\na posts m1..m40")
	v := a.BeginViews()
	if _, ok := v.View("u", "c"); !ok {
		t.Fatal("no such channel")
	}
	a.store.seek = func() { t.Error("the store is read") }
	v.Drop()
	ended(t, a)
}

// ended checks that no moment is open.
func ended(t *testing.T, a *alone) {
	t.Helper()
	if a.store.begun != a.store.closed {
		t.Errorf("%d iterators were begun, and %d closed", a.store.begun, a.store.closed)
	}
	closed := make(chan struct{})
	go func() { a.stored.Open.Wait(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(2 * time.Minute):
		t.Fatal("the closing of the store waits for a moment that nobody ends")
	}
}
