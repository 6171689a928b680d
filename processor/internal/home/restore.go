package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// How a snapshot replaces a store. The old store may be the only one that the log still reaches
// back to, and no snapshot is proven good before it is open on this disk. So the invariant: from
// the moment the old store is moved until the snapshot's store is open, the old store is beside its
// place and complete. A store is renamed before it is removed (discard). A kill leaves one of
//
//	in place     beside it
//	store        -             nothing has happened
//	-            store         the store moves back (Tidy)
//	snapshot     store         the snapshot opens, and the store is removed; or the snapshot is
//	                           corrupt, and the store takes its place again
//
// and the next start handles each of them. The disk holds two stores only until then.

// openLocal opens the store on the disk into *f: the store in place; or if that is corrupt, the
// store that it replaced; or a new one if there was none. *f stays nil if every store went to
// quarantine.
func (h *Home) openLocal(dir string, f *setup.Fold) (err error) {
	for {
		if *f, err = h.openDir(dir); err == nil {
			h.forgetReplaced(dir)
			return nil
		}
		if !projections.IsCorrupt(err) {
			return err
		}
		if err = h.takeBack(dir, err); err != nil || !h.hasStore(dir) {
			return err
		}
	}
}

// restore brings a snapshot into place and opens it into *f. It closes the previous store once the
// whole snapshot is here and verified, and removes it once the snapshot is open. If the snapshot
// does not open, the previous store is back in place, closed. If the disk fails in between, the
// store is stranded.
func (h *Home) restore(ctx context.Context, m *snapshot.Manifest, dir string, f *setup.Fold) error {
	h.takesLong()
	h.log.Info("partition is being restored", "partition", h.partition, "position", m.Position(), "bytes", m.Bytes(), "from", h.cfg.Snapshots.String())
	began := h.cfg.Now()
	temp := beside(dir, restoringMark)
	err := h.cfg.Snapshots.Download(ctx, m, temp, h.reportRestore(began))
	h.Progress.Store(nil)
	fs := h.fs()
	if err != nil {
		return errors.Join(err, fs.RemoveAll(temp))
	}
	if *f != nil {
		if err := closeUnneeded(f); err != nil {
			h.log.Warn("the store that a snapshot replaces was not closed cleanly", "partition", h.partition, "err", err)
		}
		h.forgetReplaced(dir) // left from an earlier restore that could not remove it
	}
	if err := snapshot.Install(fs, temp, dir, beside(dir, replacedMark)); err != nil {
		return err
	}
	if *f, err = h.openDir(dir); err != nil {
		return errors.Join(err, h.takeBack(dir, err))
	}
	h.engine.Metrics.Restored("done")
	h.log.Info("partition is restored", "partition", h.partition, "position", m.Position(), "bytes", m.Bytes(), "after", h.cfg.Now().Sub(began))
	h.forgetReplaced(dir)
	return nil
}

// logEvery is how often the progress of a restore is logged.
const logEvery = 5 * time.Second

// reportRestore publishes the progress of a restore and logs it now and then.
func (h *Home) reportRestore(logged time.Time) snapshot.Report {
	return func(p snapshot.Progress) {
		o := &life.Progress{Bytes: true, Rate: p.Rate, ETA: p.ETA}
		if p.Total > 0 {
			o.Done = float64(p.Done) / float64(p.Total)
		}
		if p.Phase == snapshot.PhaseCheck {
			o = &life.Progress{Bytes: true, Done: 1}
		}
		h.Progress.Store(o)
		if now := h.cfg.Now(); now.Sub(logged) >= logEvery {
			logged = now
			h.log.Info("partition is being restored", "partition", h.partition, "phase", string(p.Phase), "done", o.Done,
				"bytes_per_second", int64(p.Rate), "eta", p.ETA.Round(time.Second))
		}
	}
}

// takeBack moves a store that does not open away, and moves the one that it had replaced back into
// place. If there is none, a store that may open later stays.
func (h *Home) takeBack(dir string, why error) error {
	fs, aside := h.fs(), beside(dir, replacedMark)
	replaced := h.hasStore(aside)
	switch {
	case projections.IsCorrupt(why):
		if err := h.Quarantine(dir, why); err != nil {
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
	h.log.Warn("the store that a snapshot was replacing is back in its place", "partition", h.partition, "dir", dir)
	return nil
}

// stranded reports whether no store is open and one is still beside its place, because the disk
// failed while it was moved. Nothing else may take its place until it is back; the next attempt to
// open first moves it back.
func (h *Home) stranded(dir string, f *setup.Fold) bool {
	return *f == nil && h.hasStore(beside(dir, replacedMark))
}

// forgetReplaced removes the store that was replaced by the one in place, once that one has been
// opened.
func (h *Home) forgetReplaced(dir string) {
	fs, aside := h.fs(), beside(dir, replacedMark)
	if _, err := fs.Stat(aside); errors.Is(err, os.ErrNotExist) {
		return
	}
	if err := discard(fs, aside, beside(dir, removingMark)); err != nil {
		h.log.Warn("a replaced store cannot be removed", "dir", aside, "err", err)
	}
}

// Quarantine moves a corrupt store aside and keeps it for inspection.
func (h *Home) Quarantine(dir string, why error) error {
	at := beside(dir, corruptMark) + "-" + h.cfg.Now().UTC().Format("20060102T150405.000")
	to := at
	for n := 2; h.hasStore(to); n++ { // a snapshot's store and the one that it replaced may both go within a second
		to = fmt.Sprint(at, "-", n)
	}
	if err := snapshot.MoveAside(h.fs(), dir, to); err != nil {
		return errors.Join(why, fmt.Errorf("partition %d: the corrupt store cannot be moved aside: %w", h.partition, err))
	}
	h.engine.Metrics.Quarantined.Inc()
	h.log.Error("the store is corrupt; it is moved aside, and rebuilt from a snapshot or the log", "partition", h.partition, "moved_to", to, "err", why)
	return nil
}
