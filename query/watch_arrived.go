package query

import (
	"context"
	"slices"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/owners"
	"github.com/tidemark/tidemark/query/internal/selection"
)

// watch begins to collect changes in a partition.
func (w *localWatch) watch(p int32) error {
	watcher, err := w.s.node.Watch(p, w.userID)
	if err != nil {
		return fault.Unavailable("partition %d: %v", p, err)
	}
	w.partitions, w.watchers = append(w.partitions, p), append(w.watchers, watcher)
	w.arrivals.Follow(p)
	return nil
}

// arrive begins to follow the partitions that now have something of the user, and sends their data.
func (w *localWatch) arrive(ctx context.Context) error {
	for _, p := range w.arrivals.Partitions() {
		if _, own := slices.BinarySearch(w.own, p); !own || slices.Contains(w.partitions, p) {
			continue
		}
		if err := w.watch(p); err != nil {
			return err
		}
		var channels []string
		list := &sweep{
			call: "WatchUnread", what: "the inbox", Pages: selection.Pages{User: w.userID, Inbox: &selection.Selection{Size: 1}},
			each: func(e *projections.InboxEntry) { channels = append(channels, string(e.ChannelID)) },
		}
		if _, err := w.s.sweep(ctx, []int32{p}, nil, list); err != nil {
			return err
		}
		list.Memory.Free()
		if err := w.send(ctx, p, channels); err != nil {
			return err
		}
	}
	return nil
}

// checkLeftOut ends the watch if a partition that was left out must be called again.
func (w *localWatch) checkLeftOut() error {
	about := owners.User(w.userID, nil)
	for _, p := range w.out {
		if w.s.owners.Back(p, about) {
			return fault.Unavailable("partition %d is moving: watch again", p)
		}
	}
	return nil
}
