package home

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
)

// A full disk: writes of the store wait for space (projections.Options.Full). While they wait, the
// partition does not fold, takes no cut and is not fetched. It publishes what it has folded, it
// answers queries, and /readyz gives the reason. When the writes succeed, everything goes on. A
// partition that has to stop meanwhile does not wait: its next owner folds again what was not
// stored.

// SpaceEvery is how often a write that found no room is tried again.
const SpaceEvery = 200 * time.Millisecond

// diskSpace tracks whether the disk of a store is full.
type diskSpace struct {
	full atomic.Pointer[error] // why writes wait, nil if none does
	over chan struct{}         // closed when writes are not to wait any more
	once sync.Once
}

// Reason returns why writes wait; nil: none does.
func (d *diskSpace) Reason() error {
	if err := d.full.Load(); err != nil {
		return *err
	}
	return nil
}

// Note notes why writes wait; nil: none does.
func (d *diskSpace) Note(err error) {
	if err == nil {
		d.full.Store(nil)
		return
	}
	d.full.Store(&err)
}

// GiveUp fails the writes that wait, and with them the store.
func (d *diskSpace) GiveUp() { d.once.Do(func() { close(d.over) }) }

// GaveUp reports whether GiveUp was called.
func (d *diskSpace) GaveUp() bool { return life.Done(d.over) }

// awaitRoom is called by a write that finds the disk full, in any goroutine.
func (h *Home) awaitRoom(err error) (retry bool) {
	if !life.Done(h.opened) {
		// The worker's own goroutine waits here, and takes no orders meanwhile.
		h.Space.Note(err)
		h.takesLong() // the others do not wait for it
		if stop, _ := h.inbox.Peek(); stop != inbox.StopNone {
			return false
		}
	}
	h.inbox.Poke()
	select {
	case <-time.After(SpaceEvery):
		return true
	case <-h.Space.over:
		return false
	}
}
