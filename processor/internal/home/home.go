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

// Home is the place of one partition's store on this node: the directory, what lies beside it, and
// its disk.
type Home struct {
	partition int32
	engine    *engine.Engine
	cfg       *setup.Checked
	log       *slog.Logger
	inbox     *inbox.Inbox
	ctx       context.Context // ends with the worker
	opened    <-chan struct{} // closed when the store is open

	Space    diskSpace
	Progress atomic.Pointer[life.Progress] // of a restore; nil: none is under way
	panicked *brake                        // at which record the fold panicked before, if it is not folded yet

	Slow     chan struct{} // closed when the store will take long to open
	slowOnce sync.Once

	SnapshotTrouble error // why no snapshot was used, or an earlier one; set before opened is closed
}

// New makes the home of the partition whose inbox is b. Its waits end with ctx, and opened is
// closed when its store is open.
func New(ctx context.Context, e *engine.Engine, b *inbox.Inbox, opened <-chan struct{}) *Home {
	return &Home{partition: b.Partition, engine: e, cfg: &e.Config, log: e.Log, inbox: b, ctx: ctx, opened: opened,
		Space: diskSpace{over: make(chan struct{})}, Slow: make(chan struct{})}
}

// takesLong releases callers that wait for several stores at once: this store is being restored
// from a snapshot, or its disk is full.
func (h *Home) takesLong() { h.slowOnce.Do(func() { close(h.Slow) }) }

// Dir is the directory of the store.
func (h *Home) Dir() string { return Dir(h.cfg.DataDir, h.partition) }
