package sliced

import (
	"testing"

	"github.com/tidemark/tidemark/internal/guard"
)

// TestOthersGetTheLock: with a single processor busy, a waiter still gets the lock within two
// slices of long work.
func TestOthersGetTheLock(t *testing.T) {
	var (
		m     Mutex
		turns = make(chan int, 1)
		work  = Work{Mutex: &m}
		steps int
	)
	m.Lock()
	for round := range 20 {
		asked := steps
		go func() { m.With(func() { turns <- steps }) }()
		got := -1
		for got < 0 && steps-asked < 1000*Steps {
			steps++
			work.Step()
			select {
			case got = <-turns:
			default:
			}
		}
		if got < 0 {
			t.Fatalf("round %d: nobody else got the lock in %d steps", round, steps-asked)
		}
	}
	m.Unlock()
}

func TestStep(t *testing.T) {
	var m Mutex
	released := 0
	m.Between = func() {
		if !m.TryLock() {
			t.Fatal("the lock is held between two slices")
		}
		m.Unlock()
		released++
	}
	w := Work{Mutex: &m}
	m.Lock()
	defer m.Unlock()
	for i := 1; i <= 3*Steps; i++ {
		if got := w.Step(); got != (i%Steps == 0) {
			t.Fatalf("step %d: released %v", i, got)
		}
	}
	w.Hold = true
	for range 3 * Steps {
		w.Step()
	}
	if released != 3 {
		t.Errorf("the lock was released %d times, want 3", released)
	}
}

func TestTheLockIsAsBeforeAfterAPanic(t *testing.T) {
	var m Mutex
	if guard.Do("work", func() { m.With(func() { panic("planted") }) }) == nil || !m.TryLock() {
		t.Fatal("With: no panic, or the lock is held after it")
	}
	if guard.Do("work", func() { m.Without(func() { panic("planted") }) }) == nil || m.TryLock() {
		t.Fatal("Without: no panic, or the lock is free after it")
	}
}

func TestStock(t *testing.T) {
	var m Mutex
	made, free := 0, true
	s := Stock[int]{New: func() *int {
		if free = m.TryLock(); free {
			m.Unlock()
		}
		made++
		return new(int)
	}}
	m.Lock()
	defer m.Unlock()
	seen := map[*int]bool{}
	take := func(n int) {
		for range n {
			v := s.Take()
			if v == nil || seen[v] {
				t.Fatal("a value was taken twice")
			}
			seen[v] = true
		}
	}
	s.Fill(&m, 10)
	if made != 10 || !free {
		t.Fatalf("%d values were made, without the lock: %v", made, free)
	}
	take(4)
	s.Fill(&m, 10)
	if made != 14 {
		t.Fatalf("%d values were made to replace 4 of 10", made)
	}
	take(12) // two more than there are
	if made != 16 || free {
		t.Fatalf("%d values were made, the last ones without the lock: %v", made, free)
	}
	s.Fill(&m, 3)
	s.Clear()
	if take(1); made != 20 {
		t.Fatalf("%d values were made: a cleared stock is not empty", made)
	}
}
