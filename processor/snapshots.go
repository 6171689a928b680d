package processor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

const (
	// What a snapshot may take when a node stops: more than this is left to the next owner.
	stopUpload  = 64 << 20
	stopTimeout = 10 * time.Second
)

// runSnapshots takes a snapshot of every partition that is live here, every SnapshotEvery, one after the other, until ctx
// is done. After each it prunes what is not needed any more.
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
			if ctx.Err() == nil && w.live.Load() != nil {
				_, _, _ = p.snapshot(ctx, w, snapshot.CreateOptions{}) // it has logged and counted what went wrong
			}
		}
	}
}

// Snapshot takes a snapshot of a partition that is live here. It fails like Live, and like snapshot.Create.
func (p *Processor) Snapshot(ctx context.Context, n int32, o snapshot.CreateOptions) (*snapshot.Manifest, snapshot.Stats, error) {
	if p.cfg.Snapshots == nil {
		return nil, snapshot.Stats{}, errors.New("this node has nowhere to put snapshots: start it with --snapshots")
	}
	if _, err := p.Live(n); err != nil {
		return nil, snapshot.Stats{}, err
	}
	return p.snapshot(ctx, p.worker(n), o)
}

// Checkpoint makes dir, which must not exist, a copy of the store of a partition that is live here, as of its last cut. dir
// must be on the file system of the data directory. It fails like Live.
func (p *Processor) Checkpoint(n int32, dir string) error {
	if _, err := p.Live(n); err != nil {
		return err
	}
	return (&openSource{w: p.worker(n)}).Checkpoint(dir)
}

// snapshot takes one of a worker's partition. One is taken at a time.
func (p *Processor) snapshot(ctx context.Context, w *worker, o snapshot.CreateOptions) (*snapshot.Manifest, snapshot.Stats, error) {
	p.snapshotting.Lock()
	defer p.snapshotting.Unlock()
	began := p.cfg.now()
	scratch := beside(StoreDir(p.cfg.DataDir, w.number), checkpointMark)
	m, s, err := p.cfg.Snapshots.Create(ctx, &openSource{w: w}, scratch, o)
	p.snapshotDone(w.number, m, s, err, p.cfg.now().Sub(began))
	if err == nil {
		p.prune(ctx, w.number, m.Position())
	}
	return m, s, err
}

func (p *Processor) snapshotDone(number int32, m *snapshot.Manifest, s snapshot.Stats, err error, took time.Duration) {
	switch {
	case err == nil:
		p.metrics.snapshots("done")
		p.metrics.snapshotBytes.Add(float64(s.UploadedBytes))
		p.metrics.snapshotTimes.set(number, p.cfg.now())
		p.log.Info("snapshot taken", "partition", number, "position", m.Position(), "bytes", s.Bytes, "uploaded_bytes", s.UploadedBytes,
			"uploaded_files", s.UploadedFiles, "after", took)
	case errors.Is(err, snapshot.ErrUnchanged), errors.Is(err, projections.ErrEmpty):
		p.metrics.snapshots("unchanged")
		p.metrics.snapshotTimes.set(number, p.cfg.now())
	case errors.Is(err, snapshot.ErrDominated), errors.Is(err, ErrNotOwner):
		p.metrics.snapshots("refused")
		p.log.Warn("snapshot refused", "partition", number, "err", err)
	case errors.Is(err, context.Canceled):
	default:
		p.metrics.snapshots("failed")
		p.log.Error("snapshot failed; the one before it stays", "partition", number, "err", err)
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

// snapshotStopped takes snapshots of partitions that were just given up in order, if they cost little: who opens one of
// them next has less to fold.
func (p *Processor) snapshotStopped(ws []*worker) {
	if p.cfg.Snapshots == nil || p.cfg.SnapshotEvery <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(stopTimeout, p.cfg.StopTimeout/2))
	defer cancel()
	for _, w := range ws {
		if !isDone(w.done) || w.failure.Load() != nil || w.fold == nil || ctx.Err() != nil {
			continue
		}
		dir := StoreDir(p.cfg.DataDir, w.number)
		store, err := projections.OpenStopped(dir, w.fs())
		if err != nil {
			p.log.Warn("no snapshot is taken of a store that stopped", "partition", w.number, "err", err)
			continue
		}
		began := p.cfg.now()
		m, s, err := p.cfg.Snapshots.Create(ctx, store, beside(dir, checkpointMark), snapshot.CreateOptions{MaxUpload: stopUpload})
		if errors.Is(err, snapshot.ErrTooLarge) || ctx.Err() != nil {
			p.log.Info("no snapshot is taken on the way out: it would take too long", "partition", w.number)
		} else {
			p.snapshotDone(w.number, m, s, err, p.cfg.now().Sub(began))
		}
		if err := store.Close(); err != nil {
			p.log.Warn("store is not let go of in order", "partition", w.number, "err", err)
		}
	}
}

// openSource is the store of a worker, which may be closed at any time, but not while it is copied.
type openSource struct{ w *worker }

func (s *openSource) Checkpoint(dir string) error {
	s.w.copying.RLock()
	defer s.w.copying.RUnlock()
	part := s.w.live.Load()
	if part == nil {
		return ErrNotOwner
	}
	return part.Checkpoint(dir)
}

// snapshotTimes remembers when a partition had its last snapshot, for the metric.
type snapshotTimes struct {
	mu sync.Mutex
	at map[int32]time.Time
}

func (s *snapshotTimes) set(partition int32, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[int32]time.Time{}
	}
	s.at[partition] = now
}

func (s *snapshotTimes) get(partition int32) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.at[partition]
	return at, ok
}
