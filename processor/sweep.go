package processor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/life"
)

// The store of a partition that has moved away stays for a while, so that the partition opens
// quickly if it comes back. After StoreRetention the store is removed. A file beside it has the
// time since which it is unused, so that restarts do not reset that time; opening the store removes
// the file (Tidy).
//
// The invariant: a store is removed only while this member is in its group, another member owns the
// partition according to the group, and this member neither owns, tails, warms up nor opens it, nor
// is about to. A worker that wants to open the store meanwhile waits until it is gone, and begins
// with a snapshot or the log.

// sweepEvery is the longest time between two sweeps. With a short StoreRetention the time is a
// tenth of that.
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

// sweepStores checks all stores once.
func (p *Processor) sweepStores(ctx context.Context) {
	p.mu.RLock()
	joined, onDisk := p.joined, slices.Clone(p.storesOnDisk)
	p.mu.RUnlock()
	if !joined || p.engine.GroupErr.Load() != nil {
		return // this member's assignment is unknown
	}
	for _, n := range onDisk {
		if ctx.Err() != nil {
			return
		}
		if err := p.sweepStore(ctx, n); err != nil {
			p.log.Warn("the store of a partition that moved to another node cannot be removed yet", "partition", n,
				"dir", StoreDir(p.cfg.DataDir, n), "err", err)
		}
	}
}

// sweepStore records since when the store of partition n is unused, and removes it when that was
// long enough ago.
func (p *Processor) sweepStore(ctx context.Context, n int32) error {
	since, due, err := p.noteUnused(n)
	if err != nil || !due {
		return err
	}
	if owner, err := p.directory.Owner(ctx, n, p.cfg.Advertise); err != nil {
		return err
	} else if owner != "" && owner == p.cfg.Advertise {
		return errors.New("this node still owns it in the group")
	}
	done, unused := p.reserve(n)
	if !unused {
		return nil
	}
	defer done()
	dir := StoreDir(p.cfg.DataDir, n)
	if removed, err := home.RemoveUnused(home.FS(p.cfg), dir, since); !removed {
		return err
	}
	p.dropStore(n)
	p.metrics.StoresRemoved.Inc()
	p.log.Info("the store of a partition that moved to another node is removed", "partition", n, "dir", dir, "unused_since", since,
		"store_retention", p.cfg.StoreRetention)
	return nil
}

// noteUnused marks the store of partition n as unused, if it is and has no mark yet. due reports
// that it is time to remove it.
func (p *Processor) noteUnused(n int32) (since time.Time, due bool, err error) {
	done, unused := p.reserve(n)
	if !unused {
		return since, false, nil
	}
	defer done()
	now := p.cfg.Now()
	since, noted, err := home.UnusedSince(home.FS(p.cfg), StoreDir(p.cfg.DataDir, n), now)
	return since, noted && now.Sub(since) >= p.cfg.StoreRetention, err
}

// reserve makes workers that want to open the store of partition n wait until done is called. It
// returns false if a worker uses the store, or is about to.
func (p *Processor) reserve(n int32) (done func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.standbys
	leaving := p.leaving[n]
	switch {
	case p.workers[n] != nil, s.workers[n] != nil, s.owned[n], leaving != nil && !life.Done(leaving),
		slices.Contains(s.want.Standby, n), slices.Contains(s.want.Warming, n):
		return nil, false
	}
	gone := make(chan struct{})
	p.leaving[n] = gone
	return func() { close(gone) }, true
}

// dropStore removes a partition's store from the data that this member sends with its next join.
func (p *Processor) dropStore(n int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.storesOnDisk = slices.DeleteFunc(slices.Clone(p.storesOnDisk), func(h int32) bool { return h == n })
	p.noteStores(nil)
}
