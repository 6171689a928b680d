package query

import (
	"context"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Node is what the query services need of the processor of this process.
type Node interface {
	// Partitions is the partition count of the input topics; 0 while it is not known yet.
	Partitions() int32

	// Live returns the projections of partition p if this node owns it and has caught up, else an error in words.
	//
	// A partition that Live returns while the caller holds its RLock stays open until RUnlock. Live therefore takes no
	// lock of a partition.
	Live(p int32) (*projections.Partition, error)

	// Wait returns once partition p has folded the record of input in at offset. It fails when ctx is done or when the
	// partition stops being live here.
	Wait(ctx context.Context, p int32, in events.Input, offset int64) error

	// Owner is the URL at which the owner of partition p serves queries. It fails while no owner is known.
	Owner(ctx context.Context, p int32) (url string, err error)

	// RelayKey is what the node at url has told the group of nodes alone: who shows it there is a node. Empty: none is known.
	RelayKey(url string) string

	// Watch reports what changes for userID in partition p from now on. It fails if p is not live here.
	Watch(p int32, userID string) (Watcher, error)
}

// Watcher collects the channels that changed for one user in one partition. It is coalescing: however slow its reader
// is, it holds each channel once.
type Watcher interface {
	// Signal receives when Changed has something to tell. It is closed when the partition stops being live here.
	Signal() <-chan struct{}
	// Changed returns the ids of the channels in which what the user sees may have changed since the last call, each once,
	// in no order. That is whatever makes a delta for him, and every change of a large channel that he is a member of.
	Changed() []string
	// Stop ends the watch. It may be called more than once.
	Stop()
}

// NodeOf makes a Node of n, whose Watch returns a Watcher type of its own: that of package processor does, which does
// not know this package.
func NodeOf[W Watcher](n interface {
	Partitions() int32
	Live(p int32) (*projections.Partition, error)
	Wait(ctx context.Context, p int32, in events.Input, offset int64) error
	Owner(ctx context.Context, p int32) (url string, err error)
	RelayKey(url string) string
	Watch(p int32, userID string) (W, error)
},
) Node {
	return adapter[W]{n, n.Watch}
}

// unwatched is Node without Watch.
type unwatched interface {
	Partitions() int32
	Live(p int32) (*projections.Partition, error)
	Wait(ctx context.Context, p int32, in events.Input, offset int64) error
	Owner(ctx context.Context, p int32) (url string, err error)
	RelayKey(url string) string
}

type adapter[W Watcher] struct {
	unwatched
	watch func(p int32, userID string) (W, error)
}

func (a adapter[W]) Watch(p int32, userID string) (Watcher, error) {
	w, err := a.watch(p, userID)
	if err != nil {
		return nil, err
	}
	return w, nil
}
