package processor

import (
	"context"
	"errors"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

const (
	// Limits of a snapshot when a node stops. A larger snapshot is left to the next owner.
	stopUpload = 64 << 20
)

// runSnapshots takes a snapshot of every live partition, every SnapshotEvery, one after the other,
// until ctx is done. After each it prunes outdated files.
func (p *Processor) runSnapshots(ctx context.Context) {
	if p.cfg.Snapshots == nil || p.cfg.SnapshotEvery <= 0 {
		return
	}
	tick := time.NewTicker(p.cfg.SnapshotEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, w := range p.owned() {
			if ctx.Err() == nil && w.Live.Load() != nil {
				_, _, _ = p.snapshot(ctx, w, snapshot.CreateOptions{}) // snapshot has logged and counted a failure
			}
		}
	}
}

// Snapshot takes a snapshot of a partition that is live here. It fails like Live, and like
// snapshot.Create.
func (p *Processor) Snapshot(ctx context.Context, n int32, o snapshot.CreateOptions) (*snapshot.Manifest, snapshot.Stats, error) {
	if p.cfg.Snapshots == nil {
		return nil, snapshot.Stats{}, errors.New("this node has no place for snapshots: start it with --snapshots")
	}
	w, err := p.liveWorker(n)
	if err != nil {
		return nil, snapshot.Stats{}, err
	}
	return p.snapshot(ctx, w, o)
}

// Checkpoint creates dir, which must not exist, as a copy of the store of a partition that is live
// here, as of its last cut. dir must be on the file system of the data directory. It fails like
// Live.
func (p *Processor) Checkpoint(n int32, dir string) error {
	w, err := p.liveWorker(n)
	if err != nil {
		return err
	}
	return w.Checkpoint(dir)
}

// snapshot takes a snapshot of a worker's partition. Only one is taken at a time.
func (p *Processor) snapshot(ctx context.Context, w *steps.Worker, o snapshot.CreateOptions) (*snapshot.Manifest, snapshot.Stats, error) {
	p.snapshotting.Lock()
	defer p.snapshotting.Unlock()
	if err := guard.Err("compacting a store for a snapshot", func() error { return p.compactHot(ctx, w) }); err != nil {
		p.snapshotDone(w.Number, nil, snapshot.Stats{}, err, 0)
		return nil, snapshot.Stats{}, err
	}
	began := p.cfg.Now()
	scratch := home.CheckpointDir(StoreDir(p.cfg.DataDir, w.Number))
	var m *snapshot.Manifest
	var s snapshot.Stats
	err := guard.Err("taking a snapshot", func() (err error) {
		m, s, err = p.cfg.Snapshots.Create(ctx, w, scratch, o)
		return err
	})
	p.snapshotDone(w.Number, m, s, err, p.cfg.Now().Sub(began))
	if err == nil {
		if err := guard.Do("the pruning of snapshots", func() { p.prune(ctx, w.Number, m.Position()) }); err != nil {
			p.log.Error("old snapshots are not pruned", append(guard.Attrs(err), "partition", w.Number)...)
		}
	}
	return m, s, err
}

// compactHot compacts the hot records of a worker's store before a snapshot that shares little with the
// current one.
func (p *Processor) compactHot(ctx context.Context, w *steps.Worker) error {
	began := p.cfg.Now()
	s, err := p.cfg.Snapshots.CompactHot(ctx, w.Number, w)
	switch {
	case err != nil:
	case s.Done:
		p.log.Info("hot records are compacted before a snapshot, which shares little with the one before", "partition", w.Number,
			"bytes_before", s.Before, "bytes_after", s.After, "after", p.cfg.Now().Sub(began))
	case s.Skipped != "":
		p.log.Info("hot records are not compacted before a snapshot: later snapshots may upload more", "partition", w.Number, "why", s.Skipped)
	}
	return err
}

func (p *Processor) snapshotDone(number int32, m *snapshot.Manifest, s snapshot.Stats, err error, took time.Duration) {
	switch {
	case err == nil:
		p.metrics.Snapshots("done")
		p.metrics.SnapshotBytes.Add(float64(s.UploadedBytes))
		p.metrics.Times.Set(number, p.cfg.Now())
		p.log.Info("snapshot taken", "partition", number, "position", m.Position(), "bytes", s.Bytes, "uploaded_bytes", s.UploadedBytes,
			"uploaded_files", s.UploadedFiles, "after", took)
	case errors.Is(err, snapshot.ErrUnchanged), errors.Is(err, projections.ErrEmpty):
		p.metrics.Snapshots("unchanged")
		p.metrics.Times.Set(number, p.cfg.Now())
	case errors.Is(err, snapshot.ErrDominated), errors.Is(err, ErrNotOwner):
		p.metrics.Snapshots("refused")
		p.log.Warn("snapshot refused", "partition", number, "err", err)
	case errors.Is(err, context.Canceled):
	default:
		p.metrics.Snapshots("failed")
		p.log.Error("snapshot failed; the one before it stays", append(guard.Attrs(err), "partition", number)...)
	}
}

func (p *Processor) prune(ctx context.Context, number int32, own projections.Position) {
	pruned, err := p.cfg.Snapshots.Prune(ctx, number, &own, false)
	if err != nil && ctx.Err() == nil {
		p.log.Warn("old snapshots are not pruned", "partition", number, "err", err)
	}
	if pruned.Files > 0 || len(pruned.Snapshots) > 0 {
		p.log.Info("old snapshots are pruned", "partition", number, "snapshots", len(pruned.Snapshots), "files", pruned.Files, "bytes", pruned.Bytes)
	}
}

// snapshotStopped takes snapshots of partitions that were just released in order, if that costs
// little: their next owner then has less to fold.
func (p *Processor) snapshotStopped(ws []*steps.Worker, by time.Time) {
	if p.cfg.Snapshots == nil || p.cfg.SnapshotEvery <= 0 {
		return
	}
	ctx, cancel := context.WithDeadline(context.Background(), by)
	defer cancel()
	for _, w := range ws {
		if !life.Done(w.Done) || w.Failure.Load() != nil || w.Fold == nil || ctx.Err() != nil {
			continue
		}
		if err := guard.Err("its last snapshot", func() error { return p.snapshotLast(ctx, w) }); err != nil {
			p.log.Warn("no last snapshot is taken: the store has stopped", append(guard.Attrs(err), "partition", w.Number)...)
		}
	}
}

// snapshotLast takes a snapshot of a store that stopped. It fails if the store does not open.
func (p *Processor) snapshotLast(ctx context.Context, w *steps.Worker) error {
	dir := StoreDir(p.cfg.DataDir, w.Number)
	store, err := projections.OpenStopped(dir, home.FS(p.cfg))
	if err != nil {
		return err
	}
	defer func() { // even after a panic, because the next process needs the store
		if err := store.Close(); err != nil {
			p.log.Warn("store was not released cleanly", "partition", w.Number, "err", err)
		}
	}()
	began := p.cfg.Now()
	m, s, err := p.cfg.Snapshots.Create(ctx, store, home.CheckpointDir(dir), snapshot.CreateOptions{MaxUpload: stopUpload})
	if errors.Is(err, snapshot.ErrTooLarge) || ctx.Err() != nil {
		p.log.Info("no snapshot is taken on shutdown: it would take too long", "partition", w.Number)
	} else {
		p.snapshotDone(w.Number, m, s, err, p.cfg.Now().Sub(began))
	}
	return nil
}
