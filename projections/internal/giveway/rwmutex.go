package giveway

import "sync"

// RWMutex is the lock of a partition. Its writer gives way to queries of all partitions.
type RWMutex struct{ sync.RWMutex }

// RLock locks for reading.
func (l *RWMutex) RLock() {
	if !l.TryRLock() {
		Begin()
		l.RWMutex.RLock()
		End()
	}
}

// Unlock lets queries in before it returns. Without this, the writer may run for another 10 ms first.
func (l *RWMutex) Unlock() {
	l.RWMutex.Unlock()
	Yield()
}
