package alarm

import (
	"context"
	"sync"
	"time"
)

// look is the longest wait. A machine's clock may be changed, or stand still while the machine
// sleeps, so a set compares its first alarm with the clock at least this often.
const look = 500 * time.Millisecond

// Set is a set of alarms. Any number of goroutines may use it; its Run rings them.
type Set[T any] struct {
	now  func() time.Time
	ring func(T)

	mu      sync.Mutex
	pending Queue[T]
	sooner  chan struct{} // signals that the first alarm has changed
}

// New makes a set. Run calls ring for each alarm whose moment has come by now.
func New[T any](now func() time.Time, ring func(T)) *Set[T] {
	return &Set[T]{now: now, ring: ring, sooner: make(chan struct{}, 1)}
}

// Put sets an alarm for a moment, in Unix milliseconds, instead of its previous one.
func (s *Set[T]) Put(a *Alarm[T], at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.pending.Put(a, at); !first {
		return
	}
	select {
	case s.sooner <- struct{}{}:
	default:
	}
}

// Drop cancels an alarm. An alarm that is about to ring may still ring.
func (s *Set[T]) Drop(a *Alarm[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending.Drop(a)
}

// Len returns how many alarms are pending.
func (s *Set[T]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending.Len()
}

// Run rings alarms until ctx is done.
func (s *Set[T]) Run(ctx context.Context) {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.sooner:
		case <-t.C:
		}
		for ctx.Err() == nil {
			of, wait := s.next()
			if wait > 0 {
				t.Reset(wait)
				break
			}
			if wait < 0 {
				break // nothing is pending: Put wakes this loop
			}
			s.ring(of)
		}
	}
}

// next takes the first alarm if its moment has come. Otherwise wait is how long to wait before the
// next call, and negative if nothing is pending.
func (s *Set[T]) next() (of T, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, pending := s.pending.First()
	if !pending {
		return of, -1
	}
	if left := at - s.now().UnixMilli(); left > 0 {
		return of, time.Duration(min(left, look.Milliseconds())) * time.Millisecond
	}
	return s.pending.Take(), 0
}
