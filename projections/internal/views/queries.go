package views

import (
	"sync"
	"sync/atomic"

	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/rules"
)

// Queries answers the queries of users and operators about a partition. Its methods need RLock and
// change nothing. Parts that need the store are read afterwards, without the lock: see moment.
type Queries struct {
	// ThreadsAlways lists followed threads in the panel at any age (DESIGN §4.7).
	ThreadsAlways bool

	rules  *rules.Fold
	stored *Stored
}

// NewQueries returns the queries of a fold with this store.
func NewQueries(fold *rules.Fold, stored *Stored) Queries {
	return Queries{rules: fold, stored: stored}
}

// expired reports whether a thread that was touched at a time is too old for the panel now. Times
// are Unix milliseconds of log time.
func (p *Queries) expired(touched, now int64) bool {
	return !p.ThreadsAlways && now-touched > rules.ThreadListedFor
}

// Source is anything that answers queries, such as a partition.
type Source interface{ queries() *Queries }

func (p *Queries) queries() *Queries { return p }

// Stored is the part of a store that queries read.
type Stored struct {
	// Iterate returns an iterator over the records of the applied cuts, as they are now.
	Iterate func() (Iterator, error)
	Pending *overlay.Overlay // the cut that is not applied yet; changes under Lock
	Closing atomic.Bool      // the store is to be closed: answers in progress fail
	Open    sync.WaitGroup   // counts moments, which begin under RLock; the store closes after them
}

// Stop returns ErrClosing once the store is to be closed.
func (s *Stored) Stop() error {
	if s.Closing.Load() {
		return ErrClosing
	}
	return nil
}

// Iterator iterates over records in key order.
type Iterator interface {
	SeekGE(key []byte) bool
	Next() bool
	Key() []byte
	ValueAndErr() ([]byte, error)
	Error() error
	Close() error
}
