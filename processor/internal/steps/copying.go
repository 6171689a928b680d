package steps

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/projections"
)

// copying has what the copies of a live partition's store need.
type copying struct {
	Copying    sync.RWMutex                       // read-locked while the store is copied or compacted, locked to close it
	compacting atomic.Pointer[context.CancelFunc] // ends a CompactHot
	owed       bool                               // the last CompactHot was due and skipped
}

// Checkpoint creates dir as a copy of the store of a live partition. The store stays open
// meanwhile.
func (w *Worker) Checkpoint(dir string) error {
	w.Copying.RLock()
	defer w.Copying.RUnlock()
	part := w.Live.Load()
	if part == nil {
		return life.ErrNotOwner
	}
	return part.Checkpoint(dir)
}

// compactLag is the lag up to which CompactHot compacts: compactions would take CPU and disk that a
// partition needs to catch up.
const compactLag = 10 * time.Second

// CompactHot compacts the hot records of a live partition, as projections.Partition.CompactHot does. A
// partition that is behind, or whose disk is full, is left alone until the next call. CompactHot ends
// with ErrNotOwner when the partition ends. Only one may run at a time.
func (w *Worker) CompactHot(ctx context.Context, has func(name string, size uint64) bool) (s projections.Compacted, err error) {
	w.Copying.RLock()
	defer w.Copying.RUnlock()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	stop := context.CancelFunc(func() { end(life.ErrNotOwner) })
	w.compacting.Store(&stop)
	part := w.Live.Load() // a partition that ends is Stopping, or clears Live, before it looks for a CompactHot
	if part == nil || w.Status().State != life.Live {
		return s, life.ErrNotOwner
	}
	if w.owed {
		has = func(string, uint64) bool { return false }
	}
	if s, err = part.CompactHot(ctx, has, func() string { return w.busy(w.cfg.Now()) }); err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		w.owed = s.Skipped != ""
	}
	return s, err
}

// endCompaction ends a CompactHot. The part that Pebble has begun goes on.
func (w *Worker) endCompaction() {
	if end := w.compacting.Load(); end != nil {
		(*end)()
	}
}

// busy returns why a live partition must not be compacted now, or "".
func (w *Worker) busy(now time.Time) string {
	st := w.Status()
	if st.Full != nil {
		return st.Full.Error()
	}
	for in := range st.Lag {
		if behind := w.LagSeconds(events.Input(in), st.Lag[in], now); behind > compactLag.Seconds() {
			return fmt.Sprintf("the partition is %.0f s behind", behind)
		}
	}
	return ""
}
