// Package sliced divides long work under a lock, so that nobody waits long for the lock.
package sliced

import (
	"runtime"
	"sync"
)

// Steps is how many steps of long work are done before the lock is released. A step takes some
// microseconds at most.
const Steps = 128

// Mutex is a lock that long work releases now and then. The zero Mutex is ready to use.
type Mutex struct {
	sync.Mutex
	// Between is called each time that long work has let go of the lock. Tests set it.
	Between func()
}

// With runs f with the lock, and releases the lock even if f panics.
func (m *Mutex) With(f func()) {
	m.Lock()
	defer m.Unlock()
	f()
}

// Without runs f without the lock, which the caller holds before and after.
func (m *Mutex) Without(f func()) {
	m.Unlock()
	defer m.Lock()
	f()
	if m.Between != nil {
		m.Between()
	}
}

// Yield lets those who wait for the lock have it. A waiter that is woken still has to get a
// processor, and would find the lock taken again if Yield did not call Gosched.
func (m *Mutex) Yield() { m.Without(runtime.Gosched) }

// Work counts the steps of long work under a lock. Step releases the lock now and then for others,
// which may change the map or list that the work iterates over.
type Work struct {
	Mutex *Mutex
	Hold  bool // Step keeps the lock
	steps int
}

// Step counts one step. It reports whether the lock was released.
func (w *Work) Step() bool {
	if w.steps++; w.Hold || w.steps%Steps != 0 {
		return false
	}
	w.Mutex.Yield()
	return true
}

// Stock holds values that were allocated without the lock. A goroutine that allocates may have to
// help the garbage collector for some milliseconds, and whoever waits for its lock waits as well.
type Stock[T any] struct {
	New   func() *T
	ready []*T
}

// Take returns a value of the stock, or a new one if there is none. Called with the lock.
func (s *Stock[T]) Take() *T {
	last := len(s.ready) - 1
	if last < 0 {
		return s.New()
	}
	v := s.ready[last]
	s.ready[last] = nil
	s.ready = s.ready[:last]
	return v
}

// Fill makes new values without the lock until the stock has n of them or more. The caller holds
// the lock.
func (s *Stock[T]) Fill(m *Mutex, n int) {
	missing := n - len(s.ready)
	if missing <= 0 {
		return
	}
	made := make([]*T, missing)
	m.Without(func() {
		for i := range made {
			made[i] = s.New()
		}
	})
	s.ready = append(s.ready, made...)
}

// Clear drops the stock. Called with the lock.
func (s *Stock[T]) Clear() { s.ready = nil }
