package limit

import "sync"

// Slots bounds the calls of each key that are in progress at once. It does not remember a key
// without a call.
type Slots struct {
	perKey int

	mu   sync.Mutex
	used map[string]int
}

// NewSlots gives each key this many slots. 0 or less means no limit.
func NewSlots(perKey int) *Slots { return &Slots{perKey: perKey, used: map[string]int{}} }

// Acquire takes a slot of a key, which Release gives back. It reports false if all are taken.
func (s *Slots) Acquire(key string) bool {
	if s.perKey <= 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[key] >= s.perKey {
		return false
	}
	s.used[key]++
	return true
}

// Release gives a slot back that Acquire took.
func (s *Slots) Release(key string) {
	if s.perKey <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[key]--; s.used[key] <= 0 {
		delete(s.used, key)
	}
}
