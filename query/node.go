package query

import (
	"context"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/watch"
	"github.com/tidemark/tidemark/projections"
)

// Node is the part of *processor.Processor that the query services use.
type Node interface {
	// Partitions returns the partition count of the input topics, 0 while it is unknown.
	Partitions() int32

	// Live returns the projections of partition p if this node owns it and has caught up; otherwise
	// an error for people to read.
	//
	// If Live returns a partition while the caller holds its RLock, the partition stays open until
	// RUnlock. So Live must not take a partition's lock.
	Live(p int32) (*projections.Partition, error)

	// Wait returns once partition p has folded the record of input in at offset. It fails when ctx
	// is done or when the partition stops being live here.
	Wait(ctx context.Context, p int32, in events.Input, offset int64) error

	// MayHold reports whether partition p, which is not live here, may hold anything of a user with
	// this projections.UserHash. It returns false only if this node was the last to answer for p
	// and had nothing of the user.
	MayHold(p int32, user uint64) bool

	// Owner returns the URL at which the owner of partition p serves queries. It fails while no
	// owner is known.
	Owner(ctx context.Context, p int32) (url string, err error)

	// RelayKey returns the secret that the node at url shares only with the group: a caller that
	// presents it there is a node of the group. It is empty if unknown.
	RelayKey(url string) string

	// Watch reports changes for userID in partition p from now on. It fails if p is not live here.
	Watch(p int32, userID string) (watch.Watcher, error)

	// Arrivals reports in which partitions that are live here something changes for userID from now
	// on.
	Arrivals(userID string) watch.Arrivals
}
