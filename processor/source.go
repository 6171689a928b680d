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
	w.tidy(dir)
	if w.cfg.Snapshots == nil || w.hasStore(dir) {
		if f, err = w.openDir(dir); projections.IsCorrupt(err) {
			err = w.quarantine(dir, err)
		}
		if err != nil {
			return nil, err
		}
	}
	if w.cfg.Snapshots != nil {
		if err := w.orSnapshot(dir, &f); err != nil {
			return nil, err
		}
	}
	if f == nil {
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
		for errors.Is(err, syscall.ENOSPC) && ctx.Err() == nil {
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

// restore brings a snapshot into place and opens it, in *f. The store that was there, if there is one, is closed as soon as
// all of the snapshot is here and found right, and is removed when the snapshot is open; if it does not open, the store is
// there again, closed.
func (w *worker) restore(ctx context.Context, m *snapshot.Manifest, dir string, f *fold) error {
	w.restoringOnce.Do(func() { close(w.restoring) })
	w.log.Info("partition is being restored", "partition", w.number, "position", m.Position(), "bytes", m.Bytes(), "from", w.cfg.Snapshots.String())
	began, said := w.cfg.now(), w.cfg.now()
	temp := beside(dir, restoringMark)
	err := w.cfg.Snapshots.Download(ctx, m, temp, func(p snapshot.Progress) {
		o := &openingProgress{bytes: true, rate: p.Rate, eta: p.ETA}
		if p.Total > 0 {
			o.done = float64(p.Done) / float64(p.Total)
		}
		if p.Phase == snapshot.PhaseCheck {
			o = &openingProgress{bytes: true, done: 1}
		}
		w.opening.Store(o)
		if now := w.cfg.now(); now.Sub(said) >= sayEvery {
			said = now
			w.log.Info("partition is being restored", "partition", w.number, "phase", string(p.Phase), "done", o.done,
				"bytes_per_second", int64(p.Rate), "eta", p.ETA.Round(time.Second))
		}
	})
	w.opening.Store(nil)
	fs := w.fs()
	if err != nil {
		return errors.Join(err, fs.RemoveAll(temp))
	}
	if err := letGo(f); err != nil {
		w.log.Warn("the store that a snapshot replaces is not closed in order", "partition", w.number, "err", err)
	}
	aside := beside(dir, replacedMark)
	if err := errors.Join(fs.RemoveAll(aside), snapshot.Install(fs, temp, dir, aside)); err != nil {
		return err
	}
	if *f, err = w.openDir(dir); err != nil {
		return errors.Join(err, w.takeBack(dir, aside, err))
	}
	w.p.metrics.restored("done")
	w.log.Info("partition is restored", "partition", w.number, "position", m.Position(), "bytes", m.Bytes(), "after", w.cfg.now().Sub(began))
	if err := fs.RemoveAll(aside); err != nil {
		w.log.Warn("a replaced store is left behind", "dir", aside, "err", err)
	}
	return nil
}

// takeBack puts the store that a snapshot had replaced in its place again, since the snapshot does not open: it may be all
// that the log can be folded on from. Without one, a snapshot that may open later stays.
func (w *worker) takeBack(dir, aside string, why error) error {
	fs, replaced := w.fs(), w.hasStore(aside)
	switch {
	case projections.IsCorrupt(why):
		if err := w.quarantine(dir, why); err != nil {
			return err
		}
	case replaced:
		if err := fs.RemoveAll(dir); err != nil {
			return err
		}
	}
	if !replaced {
		return nil
	}
	return snapshot.MoveAside(fs, aside, dir)
}

// quarantine moves a corrupt store aside, where it stays for whoever wants to know what happened.
func (w *worker) quarantine(dir string, why error) error {
	to := beside(dir, corruptMark) + "-" + w.cfg.now().UTC().Format("20060102T150405.000")
	if err := snapshot.MoveAside(w.fs(), dir, to); err != nil {
		return errors.Join(why, fmt.Errorf("partition %d: the corrupt store cannot be moved aside: %w", w.number, err))
	}
	w.p.metrics.quarantined.Inc()
	w.log.Error("the store is corrupt; it is moved aside, and rebuilt from a snapshot or the log", "partition", w.number, "moved_to", to, "err", why)
	return nil
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
