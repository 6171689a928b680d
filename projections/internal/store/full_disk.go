package store

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fullDisk makes writes wait while the disk is full. To Pebble the disk only seems slow: Pebble
// holds no lock that readers need, unwritten data stays in memory, and nothing needs repair when
// there is space again.
type fullDisk struct {
	wait func(err error) (retry bool) // Options.Full

	mu      sync.Mutex
	waiting int
	err     error // error of the last write that found the disk full
}

// until repeats a write until it succeeds, until it fails for another reason than a full disk, or
// until wait or done ends the attempts.
func (r *fullDisk) until(dir string, write func() error, done func() bool) error {
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

// isFull reports whether a write failed because the disk, or the user's quota of it, is full.
func isFull(err error) bool { return vfs.IsNoSpaceError(err) || errors.Is(err, syscall.EDQUOT) }

func (r *fullDisk) enter(err error, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err = err; !waits {
		r.waiting++
	}
}

func (r *fullDisk) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting--
}

// full returns the error for which writes wait, or nil.
func (r *fullDisk) full() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == 0 {
		return nil
	}
	return r.err
}
