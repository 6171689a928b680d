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

// A moment is what is stored of a channel at one position, to be read without the partition's lock
// while the fold goes on. It is begun under RLock and consists of three things that do not change
// after that: the records of the cut that was not applied yet, to which nothing is added any more;
// Pebble as it was then; and what else its user copied from memory under the same hold of the lock.
// What was written since the last cut is not in it: see channelLog for the log, and BeginReceipts
// for receipts.
//
// The store is not closed before the last moment has ended, and a moment that is asked for more
// while the store is to be closed answers ErrClosing. It never takes the partition's lock: whoever
// closes the store waits under it.
type moment struct {
	p       *Queries
	channel []byte
	pending *overlay.Overlay
	it      Iterator
	asked   int
}

// ErrClosing is the answer of what was begun and not finished when the partition's store was
// closed: it is to be asked of who owns the partition then.
var ErrClosing = errors.New("the store was closed before the answer was complete: ask the partition's owner again")

// moment begins one. RLock is held. It must be ended.
func (p *Queries) moment(c *state.Channel) (*moment, error) {
	return p.momentOf(p.rules.Blobs.Get(c.ID))
}

// momentOf is moment for a channel's id, nil where only get is asked.
func (p *Queries) momentOf(channel []byte) (*moment, error) {
	it, err := p.stored.Iterate()
	if err != nil {
		return nil, p.rules.FirstError(fmt.Errorf("reading the store: %w", err))
	}
	p.stored.Open.Add(1)
	return &moment{p: p, channel: bytes.Clone(channel), pending: p.stored.Pending, it: it}, nil
}

// read runs what is read at the moment, and ends the moment, whatever becomes of f: the closing of
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

// drop ends the moment in the middle of a panic, which goes on to whoever asked.
func (m *moment) drop() {
	defer m.p.stored.Open.Done()
	_ = guard.Err("closing an iterator", m.it.Close) // the panic that is on its way says what is wrong
}

// end closes the moment. err is what its user met, if anything; what is wrong with the store is
// noted as the partition's.
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

// checkStopped says why nothing more is to be read: the store is to be closed, or nobody waits for
// the answer any more.
func (m *moment) checkStopped(ctx context.Context) error {
	const each = 64 // looks at the store
	if m.asked++; m.asked%each != 1 {
		return nil
	}
	if m.p.stored.Closing.Load() {
		return ErrClosing
	}
	return context.Cause(ctx)
}

// get returns the record under key, valid until the next; ok is false if there is none.
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
