package processor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// The store of a partition that has moved away stays for a while: it may come back, and then costs little. After
// StoreRetention it goes. Since when it is not used stands in a file beside it, so that restarts do not begin the time anew;
// whoever opens the store removes that file (tidy).
//
// The invariant: a store goes only while this member is in its group, the group says that another member owns the partition,
// and this one neither owns, tails, warms up nor opens it, nor is about to. Whoever comes to open it meanwhile waits until it
// is gone, and begins with a snapshot or the log.

// sweepEvery is how often stores are looked at, at most; with a short StoreRetention it is a tenth of that.
const sweepEvery = 10 * time.Minute

// runSweeps removes stores that are not needed any more until ctx is done.
func (p *Processor) runSweeps(ctx context.Context) {
	if p.cfg.StoreRetention <= 0 {
		return
	}
	tick := time.NewTicker(max(min(p.cfg.StoreRetention/10, sweepEvery), time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.sweepStores(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// sweepStores looks at the stores once.
func (p *Processor) sweepStores(ctx context.Context) {
	p.mu.RLock()
	joined, held := p.joined, slices.Clone(p.held)
	p.mu.RUnlock()
	if !joined || p.groupErr.Load() != nil {
		return // what this member is to do is not known
	}
	for _, n := range held {
		if ctx.Err() != nil {
			return
		}
		if err := p.sweepStore(ctx, n); err != nil {
			p.log.Warn("the store of a partition that is elsewhere cannot be removed yet", "partition", n,
				"dir", StoreDir(p.cfg.DataDir, n), "err", err)
		}
	}
}

// sweepStore notes since when the store of partition n is not used, and removes it when that was long ago.
func (p *Processor) sweepStore(ctx context.Context, n int32) error {
	since, due, err := p.noteUnused(n)
	if err != nil || !due {
		return err
	}
	if owner, err := p.directory.owner(ctx, n, p.cfg.Advertise); err != nil {
		return err
	} else if owner != "" && owner == p.cfg.Advertise {
		return errors.New("the group still says that this node owns it")
	}
	done, unused := p.reserve(n)
	if !unused {
		return nil
	}
	defer done()
	dir, fs := StoreDir(p.cfg.DataDir, n), fsOf(&p.cfg)
	if now, err := readMark(fs, beside(dir, unusedMark)); err != nil || !now.Equal(since) {
		return nil // it was opened meanwhile
	}
	if err := removeStore(fs, dir); err != nil {
		return err
	}
	p.letGo(n)
	p.metrics.storesRemoved.Inc()
	p.log.Info("the store of a partition that is elsewhere is removed", "partition", n, "dir", dir, "unused_since", since,
		"store_retention", p.cfg.StoreRetention)
	return nil
}

// noteUnused notes that the store of partition n is not used, if it is not and that was not noted before. due says that it
// is time to remove it.
func (p *Processor) noteUnused(n int32) (since time.Time, due bool, err error) {
	done, unused := p.reserve(n)
	if !unused {
		return since, false, nil
	}
	defer done()
	dir, fs := StoreDir(p.cfg.DataDir, n), fsOf(&p.cfg)
	if err := fs.RemoveAll(beside(dir, removingMark)); err != nil { // of a sweep that a crash cut short
		return since, false, err
	}
	if !hasStore(fs, dir) && !hasStore(fs, beside(dir, replacedMark)) {
		return since, false, nil
	}
	now := p.cfg.now()
	since, err = readMark(fs, beside(dir, unusedMark))
	if err != nil || since.After(now) {
		return since, false, writeMark(fs, beside(dir, unusedMark), now)
	}
	return since, now.Sub(since) >= p.cfg.StoreRetention, nil
}

// reserve makes whoever comes to open the store of partition n wait until done is called. It reports false if somebody uses
// the store, or is to.
func (p *Processor) reserve(n int32) (done func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.standbys
	leaving := p.leaving[n]
	switch {
	case p.workers[n] != nil, s.workers[n] != nil, s.owned[n], leaving != nil && !isDone(leaving),
		slices.Contains(s.want.Standby, n), slices.Contains(s.want.Warming, n):
		return nil, false
	}
	gone := make(chan struct{})
	p.leaving[n] = gone
	return func() { close(gone) }, true
}

// letGo tells the group, with the next join, that this member has not the store of a partition any more.
func (p *Processor) letGo(n int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = slices.DeleteFunc(slices.Clone(p.held), func(h int32) bool { return h == n })
	p.hold(nil)
}

// removeStore removes a store that no process uses, and what a restore has left beside it that a crash cut short: the store
// that was replaced, and a snapshot in part.
func removeStore(fs vfs.FS, dir string) error {
	removing := beside(dir, removingMark)
	if hasStore(fs, dir) {
		held, err := projections.OpenStopped(dir, fs)
		if err != nil {
			return err
		}
		err = snapshot.MoveAside(fs, dir, removing)
		if err = errors.Join(err, held.Close(), fs.RemoveAll(removing)); err != nil {
			return err
		}
	}
	if aside := beside(dir, replacedMark); hasStore(fs, aside) {
		if err := discard(fs, aside, removing); err != nil {
			return err
		}
	}
	return errors.Join(fs.RemoveAll(beside(dir, restoringMark)), fs.RemoveAll(beside(dir, unusedMark)))
}

// readMark reads since when a store is not used.
func readMark(fs vfs.FS, name string) (at time.Time, err error) {
	f, err := fs.Open(name)
	if err != nil {
		return at, err
	}
	b, err := io.ReadAll(io.LimitReader(f, 100))
	if err = errors.Join(err, f.Close()); err != nil {
		return at, err
	}
	return time.Parse(time.RFC3339, strings.TrimSpace(string(b)))
}

// writeMark notes that a store is not used from now on. If a crash takes the note, the time begins anew.
func writeMark(fs vfs.FS, name string, at time.Time) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, at.UTC().Format(time.RFC3339))
	return errors.Join(err, f.Close())
}
