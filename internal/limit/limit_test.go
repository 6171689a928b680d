package limit

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestRates(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := NewRates(2, 3, func() time.Time { return now })
	for i := range 3 {
		if _, ok := r.Allow("ann"); !ok {
			t.Fatalf("%d of a burst of 3 is refused", i+1)
		}
	}
	wait, ok := r.Allow("ann")
	if ok || wait != 500*time.Millisecond {
		t.Errorf("beyond the burst: %v, %v; want a wait of 500ms", wait, ok)
	}
	if _, ok := r.Allow("bob"); !ok {
		t.Error("one key takes the share of another")
	}
	now = now.Add(wait)
	if _, ok := r.Allow("ann"); !ok {
		t.Error("refused after the wait that was named")
	}
	none := NewRates(0, 0, nil)
	for range 1000 {
		if _, ok := none.Allow("ann"); !ok {
			t.Fatal("no rate refuses")
		}
	}
}

// Rates remembers few keys however many there are, and a key in use keeps its bucket.
func TestRatesAreBounded(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := NewRates(0.001, 1, func() time.Time { return now })
	r.Allow("ann")
	for i := range 3 * maxKeys {
		r.Allow(strconv.Itoa(i))
		if i%1000 == 0 {
			if _, ok := r.Allow("ann"); ok {
				t.Fatalf("after %d other keys one that is used has its burst again", i)
			}
		}
	}
	if n := r.size(); n > maxKeys {
		t.Errorf("%d keys are remembered, want at most %d", n, maxKeys)
	}
}

func TestSlots(t *testing.T) {
	s := NewSlots(2)
	for n, want := range []bool{true, true, false} {
		if got := s.Acquire("ann"); got != want {
			t.Errorf("slot %d of ann: %v, want %v", n, got, want)
		}
	}
	if !s.Acquire("bob") {
		t.Error("one key takes the slots of another")
	}
	s.Release("ann")
	if !s.Acquire("ann") {
		t.Error("a slot that was given back is not there")
	}
	s.Release("ann")
	s.Release("ann")
	s.Release("bob")
	if len(s.used) != 0 {
		t.Errorf("keys without anything under way are remembered: %v", s.used)
	}
}

func TestBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBytes(100, time.Second)
		first, ok := b.Acquire(t.Context(), 60)
		if !ok {
			t.Fatal("60 of 100 bytes are refused")
		}
		began := time.Now()
		if _, ok := b.Acquire(t.Context(), 50); ok || time.Since(began) != time.Second {
			t.Errorf("50 bytes of 40 after %s: %v; want no, after 1s", time.Since(began), ok)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, ok := b.Acquire(gone, 50); ok {
			t.Error("a caller who is gone is given bytes that are not there")
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if all, ok := b.Acquire(t.Context(), 1000); !ok { // more than the limit takes all
				t.Error("who waits is not served when bytes become free")
			} else {
				all()
			}
		})
		synctest.Wait()
		first()
		first() // a second call releases nothing
		wg.Wait()
		if all, ok := b.Acquire(t.Context(), 100); !ok {
			t.Error("all was given back, and 100 bytes are not there")
		} else {
			all()
		}
	})
}

// size returns how many keys are remembered.
func (r *Rates) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.young) + len(r.elder)
}
