package home

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/setup"
)

// Home manages the place of one partition's store on this node: the directory, the files beside it,
// and its disk.
type Home struct {
	partition int32
	engine    *engine.Engine
	cfg       *setup.Checked
	log       *slog.Logger
	inbox     *inbox.Inbox
	ctx       context.Context // ends with the worker
	opened    <-chan struct{} // closed when the store is open

	Space    diskSpace
	Progress atomic.Pointer[life.Progress] // progress of a restore; nil: none is in progress
	panicked *brake                        // the record at which the fold panicked, until it is folded

	Slow     chan struct{} // closed when the store will take long to open
	slowOnce sync.Once

	SnapshotTrouble error // why no snapshot, or only an older one, was used; set before opened is closed
}

// New creates the home of the partition whose inbox is b. Its waits end with ctx. opened is closed
// when its store is open.
func New(ctx context.Context, e *engine.Engine, b *inbox.Inbox, opened <-chan struct{}) *Home {
	return &Home{partition: b.Partition, engine: e, cfg: &e.Config, log: e.Log, inbox: b, ctx: ctx, opened: opened,
		Space: diskSpace{over: make(chan struct{})}, Slow: make(chan struct{})}
}

// takesLong releases callers that wait for several stores: this store is being restored from a
// snapshot, or its disk is full.
func (h *Home) takesLong() { h.slowOnce.Do(func() { close(h.Slow) }) }

// Dir returns the directory of the store.
func (h *Home) Dir() string { return Dir(h.cfg.DataDir, h.partition) }
