package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// Where a partition's state comes from (DESIGN §6, §14). The first choice is the store on disk. The
// newest good snapshot is used if there is no store, if the store is corrupt, if the log no longer
// reaches back to it, or if the snapshot is much closer to the end. Otherwise the log is folded
// from its start. Each of these results in a store at some position; from there all continue in the
// same way (open.go).

const (
	// closerRecords is how far a snapshot must be ahead of a store to replace it. Folding fewer
	// records takes less time than the download.
	closerRecords = 2_000_000
	// listPatience is how long the list of snapshots is requested again from a bucket that does not
	// answer.
	listPatience = 20 * time.Second
	// restoreRetry is the time between two attempts to restore to a full disk.
	restoreRetry = 5 * time.Second
)

// Open chooses the state that the partition starts from, opens it and returns it. f always holds
// the open store, and nothing else does. After a panic the caller closes f, so that the directory
// is free for the next attempt.
func (h *Home) Open() (f setup.Fold, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errors.Join(fmt.Errorf("partition %d: %w", h.partition, guard.New("the opening of its store", v)), shut(f))
			f = nil
		}
	}()
	dir := h.Dir()
	if err := h.Tidy(dir); err != nil {
		return nil, err
	}
	if h.cfg.Snapshots == nil || h.hasStore(dir) {
		if err := h.openLocal(dir, &f); err != nil {
			return nil, err
		}
	}
	if h.cfg.Snapshots != nil {
		if err := h.orSnapshot(dir, &f); err != nil {
			return nil, err
		}
	}
	if f == nil {
		if err := h.openLocal(dir, &f); err != nil {
			return nil, err
		}
	}
	if f == nil { // every store went to quarantine: open a new one
		return h.openDir(dir)
	}
	return f, nil
}

// orSnapshot replaces *f, the open store, by a snapshot if there is a better one or if there is no
// store; else it leaves *f as it is. It fails if the worker has to stop or the disk fails; then
// nothing is open.
func (h *Home) orSnapshot(dir string, f *setup.Fold) error {
	ctx, done := h.untilStopped()
	defer done() // even after a panic
	var local projections.Position
	if *f != nil {
		local = (*f).StoredPosition()
	}
	list, err := h.snapshots(ctx)
	if err != nil {
		h.SnapshotTrouble = err
		h.log.Error("the snapshots cannot be listed; the partition opens without them", "partition", h.partition, "err", err)
	}
	list = slices.DeleteFunc(list, func(e snapshot.Entry) bool {
		if err := e.Fits(h.engine.IdentityOf(h.partition)); err != nil {
			h.SnapshotTrouble = err
			h.log.Error("snapshot cannot be used", "partition", h.partition, "err", err)
			return true
		}
		return !e.Manifest.Position().Dominates(local) || e.Manifest.Position() == local
	})
	if *f != nil && (len(list) == 0 || !h.closer(ctx, local, list[0].Manifest.Position())) {
		return nil
	}
	for i := range list {
		m := list[i].Manifest
		err := h.restore(ctx, m, dir, f)
		for errors.Is(err, syscall.ENOSPC) && ctx.Err() == nil && !h.stranded(dir, f) {
			h.log.Error("the disk is too full for a snapshot; it is tried again until there is room", "partition", h.partition,
				"bytes", m.Bytes(), "err", err)
			select {
			case <-time.After(restoreRetry):
				err = h.restore(ctx, m, dir, f)
			case <-ctx.Done():
			}
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.Join(fmt.Errorf("partition %d: its restoring was interrupted: %w", h.partition, context.Cause(ctx)), closeUnneeded(f))
		case h.stranded(dir, f):
			return fmt.Errorf("partition %d: the store that a snapshot was to replace cannot be put back: %w", h.partition, err)
		}
		h.engine.Metrics.Restored("failed")
		h.SnapshotTrouble = err
		h.log.Error("snapshot cannot be restored; the one before it is tried, and then the log",
			append(guard.Attrs(err), "partition", h.partition, "position", m.Position())...)
	}
	return nil
}

// snapshots lists the partition's snapshots. It retries for a while if the bucket does not answer.
func (h *Home) snapshots(ctx context.Context) (list []snapshot.Entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		if list, err = h.cfg.Snapshots.List(ctx, h.partition); err == nil {
			return list, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// closer reports whether a snapshot is worth more than a store that it dominates: if it is far
// ahead, or if the log does not reach back to the store.
func (h *Home) closer(ctx context.Context, local, snap projections.Position) bool {
	if opening.Behind(snap, local) >= cmp.Or(h.cfg.CloserRecords, closerRecords) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	starts, err := h.engine.Admin.ListStartOffsets(ctx, h.cfg.Topics.Inputs[:]...)
	if err != nil {
		return false // the log's bounds are read again before anything is folded
	}
	for i, topic := range h.cfg.Topics.Inputs {
		if o, ok := starts.Lookup(topic, h.partition); ok && o.Err == nil && local[i] < o.Offset {
			h.log.Warn("the log does not reach back to the store: a snapshot takes its place", "topic", topic, "partition", h.partition,
				"store", local[i], "log_start", o.Offset, "snapshot", snap[i])
			return true
		}
	}
	return false
}

// untilStopped returns a context that ends when the worker is told to stop while its store is being
// opened.
func (h *Home) untilStopped() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(h.ctx)
	finished, gone := make(chan struct{}), make(chan struct{})
	guard.Go("waiting for an order to stop", func(e *guard.Error) { cancel(e) }, func() {
		defer close(gone)
		for {
			select {
			case <-h.inbox.Wake:
				if stop, _ := h.inbox.Peek(); stop != inbox.StopNone {
					cancel(life.ErrNotOwner)
					return
				}
			case <-finished:
				return
			}
		}
	})
	return ctx, func() {
		close(finished)
		<-gone
		cancel(nil)
		h.inbox.Poke() // the value taken from Wake was meant for the next reader
	}
}
