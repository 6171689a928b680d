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
	f, err := h.cfg.OpenStore(dir, h.engine.IdentityOf(h.partition), projections.Options{
		FS: h.cfg.FS, Cache: h.cfg.Cache, MemTableSize: h.cfg.MemTableSize, Full: h.awaitRoom,
		OnHold: h.cfg.OnHold, ThreadsAlways: h.cfg.ThreadsAlways,
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// letGo closes a store, if there is one, that is not needed any more.
func letGo(f *setup.Fold) error {
	open := *f
	if open == nil {
		return nil
	}
	*f = nil // also if closing it panics: it is not to be closed twice
	return open.Close()
}
