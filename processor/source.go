package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// Where a partition's state comes from (DESIGN §6, §14): the store on disk; the newest snapshot that is good, if there is
// no store, if the store is corrupt, if the log does not reach back to it any more, or if the snapshot is much closer to
// the end; else nothing, and the log is folded from its start. What each of them leads to is a store at some position;
// from there on the way is the same (open.go).

const (
	// closerRecords is by how many records a snapshot must be ahead of a store to be brought in its place: below that
	// it takes less time to fold them.
	closerRecords = 2_000_000
	// listPatience is for how long a bucket that does not answer is asked again which snapshots there are.
	listPatience = 20 * time.Second
	// restoreRetry is the time between two tries to restore to a full disk.
	restoreRetry = 5 * time.Second
)

// openStore picks what the partition starts from, opens it and returns it. What is open is in f at any time, and nowhere
// else: after a panic it is closed, so that the directory is free for the next try.
func (w *worker) openStore() (f fold, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(fmt.Errorf("partition %d: %w", w.number, newPanic("the opening of its store", p)), shut(f))
			f = nil
		}
	}()
	dir := StoreDir(w.cfg.DataDir, w.number)
	if err := w.tidy(dir); err != nil {
		return nil, err
	}
	if w.cfg.Snapshots == nil || w.hasStore(dir) {
		if err := w.openLocal(dir, &f); err != nil {
			return nil, err
		}
	}
	if w.cfg.Snapshots != nil {
		if err := w.orSnapshot(dir, &f); err != nil {
			return nil, err
		}
	}
	if f == nil {
		if err := w.openLocal(dir, &f); err != nil {
			return nil, err
		}
	}
	if f == nil { // what was there is all in quarantine: a new one
		return w.openDir(dir)
	}
	return f, nil
}

// shut closes a store that a panic may have left in any state.
func shut(f fold) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = newPanic("the closing of its store", p)
		}
	}()
	if f != nil {
		err = f.Close()
	}
	return err
}

func (w *worker) openDir(dir string) (fold, error) {
	f, err := w.cfg.openStore(dir, w.p.identityOf(w.number), projections.Options{
		FS: w.cfg.FS, Cache: w.cfg.Cache, MemTableSize: w.cfg.MemTableSize, Full: w.awaitRoom,
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// orSnapshot puts a snapshot in the place of *f, the open store, if there is a better one, or if there is no store; else it
// leaves *f as it is. It fails if it was told to stop, or if the disk fails, and then nothing is open.
func (w *worker) orSnapshot(dir string, f *fold) error {
	ctx, done := w.untilStopped()
	defer done() // whatever panics
	var local projections.Position
	if *f != nil {
		local = (*f).StoredPosition()
	}
	list, err := w.snapshots(ctx)
	if err != nil {
		w.snapshotTrouble = err
		w.log.Error("which snapshots there are is not known; the partition opens without them", "partition", w.number, "err", err)
	}
	list = slices.DeleteFunc(list, func(e snapshot.Entry) bool {
		if err := e.Fits(w.p.identityOf(w.number)); err != nil {
			w.snapshotTrouble = err
			w.log.Error("snapshot cannot be used", "partition", w.number, "err", err)
			return true
		}
		return !e.Manifest.Position().Dominates(local) || e.Manifest.Position() == local
	})
	if *f != nil && (len(list) == 0 || !w.closer(ctx, local, list[0].Manifest.Position())) {
		return nil
	}
	for i := range list {
		m := list[i].Manifest
		err := w.restore(ctx, m, dir, f)
		for errors.Is(err, syscall.ENOSPC) && ctx.Err() == nil && !w.stranded(dir, f) {
			w.log.Error("the disk is too full for a snapshot; it is tried again until there is room", "partition", w.number,
				"bytes", m.Bytes(), "err", err)
			select {
			case <-time.After(restoreRetry):
				err = w.restore(ctx, m, dir, f)
			case <-ctx.Done():
			}
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.Join(fmt.Errorf("partition %d: its restoring was interrupted: %w", w.number, context.Cause(ctx)), letGo(f))
		case w.stranded(dir, f):
			return fmt.Errorf("partition %d: the store that a snapshot was to replace cannot be put back: %w", w.number, err)
		}
		w.p.metrics.restored("failed")
		w.snapshotTrouble = err
		w.log.Error("snapshot cannot be restored; the one before it is tried, and then the log", "partition", w.number,
			"position", m.Position(), "err", err)
	}
	return nil
}

// letGo closes a store, if there is one, that is not needed any more.
func letGo(f *fold) error {
	open := *f
	if open == nil {
		return nil
	}
	*f = nil // also if closing it panics: it is not to be closed twice
	return open.Close()
}

// snapshots lists those of the partition. A bucket that does not answer is asked again for a while.
func (w *worker) snapshots(ctx context.Context) (list []snapshot.Entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		if list, err = w.cfg.Snapshots.List(ctx, w.number); err == nil {
			return list, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// closer reports whether a snapshot is worth more than a store that it dominates: if it is far ahead, or if the log does
// not reach back to the store.
func (w *worker) closer(ctx context.Context, local, snap projections.Position) bool {
	if behind(snap, local) >= w.cfg.closerRecords {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	starts, err := w.p.admin.ListStartOffsets(ctx, w.cfg.Topics.Inputs[:]...)
	if err != nil {
		return false // the log is asked again before anything is folded
	}
	for i, topic := range w.cfg.Topics.Inputs {
		if o, ok := starts.Lookup(topic, w.number); ok && o.Err == nil && local[i] < o.Offset {
			w.log.Warn("the log does not reach back to the store: a snapshot takes its place", "topic", topic, "partition", w.number,
				"store", local[i], "log_start", o.Offset, "snapshot", snap[i])
			return true
		}
	}
	return false
}

// untilStopped is a context that ends when the worker is told to stop while its store is being opened.
func (w *worker) untilStopped() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(w.ctx)
	finished, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-w.inbox.wake:
				if stop, _ := w.inbox.peek(); stop != stopNone {
					cancel(ErrNotOwner)
					return
				}
			case <-finished:
				return
			}
		}
	}()
	return ctx, func() {
		close(finished)
		<-gone
		cancel(nil)
		w.inbox.change(func() {}) // what was taken from wake is for whoever comes next
	}
}
