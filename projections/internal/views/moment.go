package views

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A moment is a read-only view of a channel's stored records at one position. It needs no lock, and
// the fold goes on meanwhile. It begins under RLock and consists of three parts that do not change
// afterwards: the records of the cut that was not applied yet; Pebble as it was then; and copies of
// memory that its user makes under the same hold of the lock. It does not include records written
// since the last cut; channelLog has those of the log, and BeginReceipts those of receipts.
//
// The store is not closed before the last moment has ended. Once the store is to be closed, reads
// of a moment return ErrClosing. A moment never takes the partition's lock, because Close waits for
// moments under that lock.
type moment struct {
	p       *Queries
	channel []byte
	pending *overlay.Overlay
	it      Iterator
	asked   int
}

// ErrClosing is returned for an answer that was not complete when the partition's store was closed.
// Ask the partition's new owner.
var ErrClosing = errors.New("the store was closed before the answer was complete: ask the partition's owner again")

// moment begins a moment of a channel. The caller holds RLock, and must end the moment.
func (p *Queries) moment(c *state.Channel) (*moment, error) {
	return p.momentOf(p.rules.Blobs.Get(c.ID))
}

// momentOf is moment by channel id; nil if only get will be called.
func (p *Queries) momentOf(channel []byte) (*moment, error) {
	it, err := p.stored.Iterate()
	if err != nil {
		return nil, p.rules.FirstError(fmt.Errorf("reading the store: %w", err))
	}
	p.stored.Open.Add(1)
	return &moment{p: p, channel: bytes.Clone(channel), pending: p.stored.Pending, it: it}, nil
}

// read runs f, which reads at the moment, and ends the moment in any case, because the closing of
// the store waits for it.
func (m *moment) read(ctx context.Context, f func() error) error {
	ended := false
	defer func() {
		if !ended {
			m.drop()
		}
	}()
	err := f()
	ended = true
	return m.end(ctx, err)
}

// drop ends the moment during a panic, which continues to the caller.
func (m *moment) drop() {
	defer m.p.stored.Open.Done()
	_ = guard.Err("closing an iterator", m.it.Close) // the panic in progress is the cause
}

// end ends the moment. err is the error of its user, if any. An error of the store becomes the
// partition's error.
func (m *moment) end(ctx context.Context, err error) error {
	defer m.p.stored.Open.Done()
	if closed := m.it.Close(); err == nil {
		err = closed
	}
	givenUp := errors.Is(err, ErrClosing) || (ctx.Err() != nil && errors.Is(err, context.Cause(ctx)))
	if err != nil && !givenUp {
		m.p.rules.Fail(err)
	}
	return err
}

// checkStopped returns an error if reading should stop: the store is to be closed, or ctx is done.
func (m *moment) checkStopped(ctx context.Context) error {
	const each = 64 // reads of the store between two checks
	if m.asked++; m.asked%each != 1 {
		return nil
	}
	if m.p.stored.Closing.Load() {
		return ErrClosing
	}
	return context.Cause(ctx)
}

// get returns the record under key, valid until the next call. ok reports whether there is one.
func (m *moment) get(key []byte) (val []byte, ok bool, err error) {
	if v, deleted, known := m.pending.Get(key); known {
		return v, !deleted, nil
	}
	if !m.it.SeekGE(key) || !bytes.Equal(m.it.Key(), key) {
		return nil, false, m.it.Error()
	}
	val, err = m.it.ValueAndErr()
	return val, err == nil, err
}
