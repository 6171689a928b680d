// Package arrivals notifies watches of a user about partitions of the node that they do not follow
// yet.
//
//	arrivals.go  one registry for all partitions of a node
package arrivals

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Registry holds the watches of a node. The zero value is empty.
type Registry struct {
	watched atomic.Int32 // number of watches: without any, a delta costs one atomic load

	mu     sync.RWMutex
	byUser map[string]map[*Arrivals]struct{}
}

// Arrivals collects partitions for one watch. It implements watch.Arrivals.
type Arrivals struct {
	of     *Registry
	user   string
	signal chan struct{}

	mu       sync.Mutex
	new      map[int32]struct{}
	followed map[int32]struct{}
	stopped  bool
}

// Begin starts to collect for a user.
func (r *Registry) Begin(user string) *Arrivals {
	a := &Arrivals{of: r, user: user, signal: make(chan struct{}, 1), new: map[int32]struct{}{}, followed: map[int32]struct{}{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byUser == nil {
		r.byUser = map[string]map[*Arrivals]struct{}{}
	}
	if r.byUser[user] == nil {
		r.byUser[user] = map[*Arrivals]struct{}{}
	}
	r.byUser[user][a] = struct{}{}
	r.watched.Add(1)
	return a
}

// Any reports whether there are watches.
func (r *Registry) Any() bool { return r.watched.Load() > 0 }

// Note records that something changed for a user in a partition. It keeps no reference to user.
func (r *Registry) Note(user []byte, partition int32) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for a := range r.byUser[string(user)] {
		a.note(partition)
	}
}

// End ends all watches, because a partition is no longer live on this node.
func (r *Registry) End() {
	r.mu.Lock()
	all := r.byUser
	r.byUser = nil
	r.watched.Store(0)
	r.mu.Unlock()
	for _, of := range all {
		for a := range of {
			a.end()
		}
	}
}

// note adds a partition.
func (a *Arrivals) note(partition int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, is := a.followed[partition]; is || a.stopped {
		return
	}
	a.new[partition] = struct{}{}
	select {
	case a.signal <- struct{}{}:
	default: // an earlier signal is still pending
	}
}

// end closes the signal.
func (a *Arrivals) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopped {
		a.stopped = true
		clear(a.new)
		close(a.signal)
	}
}

// Signal implements watch.Arrivals.
func (a *Arrivals) Signal() <-chan struct{} { return a.signal }

// Partitions implements watch.Arrivals.
func (a *Arrivals) Partitions() []int32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	ps := make([]int32, 0, len(a.new))
	for p := range a.new {
		ps = append(ps, p)
	}
	clear(a.new)
	slices.Sort(ps)
	return ps
}

// Follow implements watch.Arrivals.
func (a *Arrivals) Follow(partition int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followed[partition] = struct{}{}
	delete(a.new, partition)
}

// Stop implements watch.Arrivals.
func (a *Arrivals) Stop() {
	r := a.of
	r.mu.Lock()
	if _, is := r.byUser[a.user][a]; is {
		delete(r.byUser[a.user], a)
		if len(r.byUser[a.user]) == 0 {
			delete(r.byUser, a.user)
		}
		r.watched.Add(-1)
	}
	r.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	clear(a.new)
}
