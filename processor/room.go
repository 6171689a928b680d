package processor

import (
	"sync"
	"sync/atomic"
	"time"
)

// A full disk: writes of the store wait for room (projections.Options.Full), and while they do the partition does not
// fold, takes no cut and is not fetched. What was folded is published, queries are answered from what is in memory and on
// disk, /readyz gives the reason, and when the writes get through everything goes on. A partition that is to stop
// meanwhile does not wait: what is not stored is folded again by its next owner.

// roomEvery is how often a write that found no room is tried again.
const roomEvery = 200 * time.Millisecond

// room is what a worker knows of the disk of its store.
type room struct {
	reason atomic.Pointer[error] // why writes wait, nil if none does
	over   chan struct{}         // closed when there is no use in waiting any more
	once   *sync.Once
}

func newRoom() room { return room{over: make(chan struct{}), once: new(sync.Once)} }

// giveUp fails the writes that wait, and with them the store.
func (r *room) giveUp() { r.once.Do(func() { close(r.over) }) }

func (r *room) gaveUp() bool { return isDone(r.over) }

// awaitRoom is called by a write that finds the disk full, in any goroutine.
func (w *worker) awaitRoom(err error) (again bool) {
	if !isDone(w.opened) {
		// The worker's own goroutine waits here, and takes no orders meanwhile.
		w.room.reason.Store(&err)
		w.restoringOnce.Do(func() { close(w.restoring) }) // the others do not wait for it
		if stop, _ := w.inbox.peek(); stop != stopNone {
			return false
		}
	}
	w.inbox.change(func() {})
	select {
	case <-time.After(roomEvery):
		return true
	case <-w.room.over:
		return false
	}
}

// checkRoom notes whether writes of the store wait for room.
func (w *worker) checkRoom() {
	err := w.fold.Full()
	if (err != nil) == w.full || w.room.gaveUp() {
		return
	}
	w.full = err != nil
	w.inbox.hold(w.full)
	if w.full {
		w.room.reason.Store(&err)
		w.log.Error("partition does not fold: its queries go on, and so does it when there is room", "partition", w.number, "err", err)
	} else {
		w.room.reason.Store(nil)
		w.log.Info("there is room on the disk again: partition goes on", "partition", w.number)
	}
}
