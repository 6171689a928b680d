package store

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// room lets writes wait while the disk is full. To Pebble the disk is slow then: it holds nothing
// that a reader needs, what is in memory stays there until it is written, and nothing has to be
// repaired when there is room again.
type room struct {
	wait func(err error) (retry bool) // Options.Full

	mu      sync.Mutex
	waiting int
	err     error // of the write that found it last
}

// until runs a write until it succeeds or fails by something else than lack of room, or nobody
// waits any more.
func (r *room) until(dir string, write func() error, done func() bool) error {
	waits := false
	defer func() {
		if waits {
			r.leave()
		}
	}()
	for {
		err := write()
		if err == nil || r.wait == nil || !isFull(err) {
			return err
		}
		full := fmt.Errorf("store %s: %w; free some space, and it continues by itself", dir, err)
		r.enter(full, waits)
		waits = true
		if !r.wait(full) || done() {
			return err
		}
	}
}

// isFull reports whether a write failed for want of room: on the disk, or within somebody's quota
// of it.
func isFull(err error) bool { return vfs.IsNoSpaceError(err) || errors.Is(err, syscall.EDQUOT) }

func (r *room) enter(err error, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err = err; !waits {
		r.waiting++
	}
}

func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting--
}

// full is why writes are waiting, nil if none is.
func (r *room) full() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == 0 {
		return nil
	}
	return r.err
}
