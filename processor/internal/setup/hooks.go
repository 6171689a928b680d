package setup

import (
	"time"

	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/projections"
)

// Hooks are the places where tests replace a part of a processor. The zero value replaces nothing.
type Hooks struct {
	// RetryAfter returns the pause before try number n to open a partition that failed; nil: from
	// 1 s up to 1 min.
	RetryAfter func(n int) time.Duration
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// CloserRecords is how far a snapshot must be ahead of a store to replace it if the log could
	// be folded instead; 0: so many records that folding them takes longer than the download.
	CloserRecords int64
	// LockRecords is how many records are folded at once, at most; 0: a full batch. A small value
	// makes a backlog of few records.
	LockRecords int
	// ListChannels is how many cold channels are listed between two batches; 0: as many as usual.
	ListChannels int
	// FetchBytes is how many bytes of an input a rebuild, or a node that is far behind, fetches at
	// once; 0: the usual size. A small value makes many fetches of few records.
	FetchBytes int32
	// Behind is how many records an input is behind, at least, for a node to fetch it without the
	// client's consumer (fetch.CatchUp); 0: fetch.Behind.
	Behind int64
	// Planted is called at the named place, and may panic there; nil: nothing happens.
	Planted func(where string)
	// Taken is called after each transition in the life of a partition; nil: nothing happens.
	Taken func(life.Transition)
	// OpenStore opens the store of a partition; nil: projections.Open.
	OpenStore func(dir string, id projections.Identity, o projections.Options) (Fold, error)
}

// HooksOf returns the hooks of c, so that a test can set them. It is not a method of Config,
// because package processor exports Config's methods.
func HooksOf(c *Config) *Hooks { return &c.hooks }

func (h Hooks) withDefaults() Hooks {
	if h.Now == nil {
		h.Now = time.Now
	}
	if h.OpenStore == nil {
		h.OpenStore = Open
	}
	return h
}
