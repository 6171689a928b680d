package home

import (
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// shut closes a store that a panic may have left in any state.
func shut(f setup.Fold) error {
	if f == nil {
		return nil
	}
	return guard.Err("the closing of its store", f.Close)
}

func (h *Home) openDir(dir string) (setup.Fold, error) {
	closed := h.cfg.Memory.Opening()
	f, err := h.cfg.OpenStore(dir, h.engine.IdentityOf(h.partition), projections.Options{
		FS: h.cfg.FS, Cache: h.cfg.Cache, MemTableSize: h.cfg.MemTableSize, Full: h.awaitSpace,
		OnHold: h.cfg.OnHold, ThreadsAlways: h.cfg.ThreadsAlways, Memory: h.cfg.Memory.Share, ListLater: true,
	})
	if err != nil {
		closed()
		return nil, err
	}
	return setup.Sharing(f, closed), nil
}

// closeUnneeded closes a store that is no longer needed, if there is one.
func closeUnneeded(f *setup.Fold) error {
	open := *f
	if open == nil {
		return nil
	}
	*f = nil // even if closing it panics: it must not be closed twice
	return open.Close()
}
