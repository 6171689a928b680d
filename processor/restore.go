package processor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// How a snapshot takes the place of a store. The store that was there may be all that the log can be folded on from, and no
// snapshot is known to be of use before it is open on this disk. So the invariant: the replaced store lies beside its
// place, whole, from the moment it is moved until the snapshot's store is open, and whatever is removed has another name by
// then (discard). A kill leaves one of
//
//	in place     beside it
//	store        -             nothing has happened
//	-            store         it goes back (tidy)
//	snapshot     store         the snapshot opens, and the store goes; or it is corrupt, and the store takes its place again
//
// and the next start knows each of them. Two stores are on the disk for no longer than that.

// openLocal opens what is on the disk, in *f: the store that is in place, or if that is corrupt the one that it replaced, or
// a new one if there was none. *f stays nil if all that was there is in quarantine.
func (w *worker) openLocal(dir string, f *fold) (err error) {
	for {
		if *f, err = w.openDir(dir); err == nil {
			w.forgetReplaced(dir)
			return nil
		}
		if !projections.IsCorrupt(err) {
			return err
		}
		if err = w.takeBack(dir, err); err != nil || !w.hasStore(dir) {
			return err
		}
	}
}

// restore brings a snapshot into place and opens it, in *f. The store that was there, if there is one, is closed as soon as
// all of the snapshot is here and found right, and is removed when the snapshot is open; if it does not open, the store is
// there again, closed. If the disk fails in between, the store is stranded.
func (w *worker) restore(ctx context.Context, m *snapshot.Manifest, dir string, f *fold) error {
	w.restoringOnce.Do(func() { close(w.restoring) })
	w.log.Info("partition is being restored", "partition", w.number, "position", m.Position(), "bytes", m.Bytes(), "from", w.cfg.Snapshots.String())
	began := w.cfg.now()
	temp := beside(dir, restoringMark)
	err := w.cfg.Snapshots.Download(ctx, m, temp, w.sayRestoring(began))
	w.opening.Store(nil)
	fs := w.fs()
	if err != nil {
		return errors.Join(err, fs.RemoveAll(temp))
	}
	if *f != nil {
		if err := letGo(f); err != nil {
			w.log.Warn("the store that a snapshot replaces is not closed in order", "partition", w.number, "err", err)
		}
		w.forgetReplaced(dir) // of an earlier time, that could not be removed then
	}
	if err := snapshot.Install(fs, temp, dir, beside(dir, replacedMark)); err != nil {
		return err
	}
	if *f, err = w.openDir(dir); err != nil {
		return errors.Join(err, w.takeBack(dir, err))
	}
	w.p.metrics.restored("done")
	w.log.Info("partition is restored", "partition", w.number, "position", m.Position(), "bytes", m.Bytes(), "after", w.cfg.now().Sub(began))
	w.forgetReplaced(dir)
	return nil
}

// sayRestoring shows how far a restore has come, and logs it now and then.
func (w *worker) sayRestoring(said time.Time) snapshot.Report {
	return func(p snapshot.Progress) {
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
	}
}

// takeBack moves a store away that does not open, and puts the one that it had replaced, if there is one, in its place
// again. Without one, a store that may open later stays.
func (w *worker) takeBack(dir string, why error) error {
	fs, aside := w.fs(), beside(dir, replacedMark)
	replaced := w.hasStore(aside)
	switch {
	case projections.IsCorrupt(why):
		if err := w.quarantine(dir, why); err != nil {
			return err
		}
	case replaced:
		if err := discard(fs, dir, beside(dir, removingMark)); err != nil {
			return err
		}
	}
	if !replaced {
		return nil
	}
	if err := snapshot.MoveAside(fs, aside, dir); err != nil {
		return err
	}
	w.log.Warn("the store that a snapshot had replaced is in its place again", "partition", w.number, "dir", dir)
	return nil
}

// stranded reports whether no store is open and one lies beside its place, because the disk failed while it was moved there or
// back. Nothing else may be put there until it is back, which the next try to open begins with.
func (w *worker) stranded(dir string, f *fold) bool {
	return *f == nil && w.hasStore(beside(dir, replacedMark))
}

// forgetReplaced removes the store that was replaced by the one in place, which is open or was just now.
func (w *worker) forgetReplaced(dir string) {
	fs, aside := w.fs(), beside(dir, replacedMark)
	if _, err := fs.Stat(aside); errors.Is(err, os.ErrNotExist) {
		return
	}
	if err := discard(fs, aside, beside(dir, removingMark)); err != nil {
		w.log.Warn("a replaced store is left behind", "dir", aside, "err", err)
	}
}

// quarantine moves a corrupt store aside, where it stays for whoever wants to know what happened.
func (w *worker) quarantine(dir string, why error) error {
	at := beside(dir, corruptMark) + "-" + w.cfg.now().UTC().Format("20060102T150405.000")
	to := at
	for n := 2; w.hasStore(to); n++ { // a snapshot's store and the one that it replaced, one right after the other
		to = fmt.Sprint(at, "-", n)
	}
	if err := snapshot.MoveAside(w.fs(), dir, to); err != nil {
		return errors.Join(why, fmt.Errorf("partition %d: the corrupt store cannot be moved aside: %w", w.number, err))
	}
	w.p.metrics.quarantined.Inc()
	w.log.Error("the store is corrupt; it is moved aside, and rebuilt from a snapshot or the log", "partition", w.number, "moved_to", to, "err", why)
	return nil
}
