package views

import (
	"sync"
	"sync/atomic"

	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/rules"
)

// Queries answers what users and operators ask of a partition. Its methods need RLock and change
// nothing. What they need of the store they read after that, without the lock: see moment.
type Queries struct {
	// ThreadsAlways keeps followed threads in the panel whatever their age (DESIGN §4.7).
	ThreadsAlways bool

	rules  *rules.Fold
	stored *Stored
}

// NewQueries returns the queries of a fold whose store is stored.
func NewQueries(fold *rules.Fold, stored *Stored) Queries {
	return Queries{rules: fold, stored: stored}
}

// expired reports whether a thread that was touched at a time, in Unix milliseconds of log time, is
// too old for the panel now.
func (p *Queries) expired(touched, now int64) bool {
	return !p.ThreadsAlways && now-touched > rules.ThreadListedFor
}

// Source is what has queries: a partition.
type Source interface{ queries() *Queries }

func (p *Queries) queries() *Queries { return p }

// Stored is what queries read of a store.
type Stored struct {
	// Iterate returns an iterator over the records of the applied cuts, as they are now.
	Iterate func() (Iterator, error)
	Pending *overlay.Overlay // of the cut that is not applied yet; changes under Lock
	Closing atomic.Bool      // the store is to be closed: what was begun is given up
	Open    sync.WaitGroup   // moments, begun under RLock; the store is closed after them
}

// Stop is ErrClosing once the store is to be closed.
func (s *Stored) Stop() error {
	if s.Closing.Load() {
		return ErrClosing
	}
	return nil
}

// Iterator goes through records in the order of their keys.
type Iterator interface {
	SeekGE(key []byte) bool
	Next() bool
	Key() []byte
	ValueAndErr() ([]byte, error)
	Error() error
	Close() error
}
