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
// answers queries, and /readyz gives the reason. When the writes succeed, everything continues. A
// partition that has to stop meanwhile does not wait: its next owner folds again what was not
// stored.

// SpaceEvery is how often a write that found the disk full is retried.
const SpaceEvery = 200 * time.Millisecond

// diskSpace tracks whether the disk of a store is full.
type diskSpace struct {
	full atomic.Pointer[error] // why writes wait; nil: none waits
	over chan struct{}         // closed when waiting writes must give up
	once sync.Once
}

// Reason returns why writes wait, or nil.
func (d *diskSpace) Reason() error {
	if err := d.full.Load(); err != nil {
		return *err
	}
	return nil
}

// Note sets why writes wait; nil: none waits.
func (d *diskSpace) Note(err error) {
	if err == nil {
		d.full.Store(nil)
		return
	}
	d.full.Store(&err)
}

// GiveUp makes the waiting writes fail, and with them the store.
func (d *diskSpace) GiveUp() { d.once.Do(func() { close(d.over) }) }

// GaveUp reports whether GiveUp was called.
func (d *diskSpace) GaveUp() bool { return life.Done(d.over) }

// awaitSpace is called by a write that finds the disk full, in any goroutine.
func (h *Home) awaitSpace(err error) (retry bool) {
	if !life.Done(h.opened) {
		// The worker's own goroutine may be the one that waits here. It takes no orders meanwhile.
		h.Space.Note(err)
		h.takesLong() // the others do not wait for this store
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
