// Package watch is the interface between the node that folds a partition and the service that
// streams its changes: package processor makes watchers, package query reads them, and neither
// imports the other.
package watch

// Watcher collects the channels that changed for one user in one partition. It coalesces: however
// slow its reader is, it holds each channel once.
type Watcher interface {
	// Signal receives when Changed has something to return. It is closed when the partition stops
	// being live here.
	Signal() <-chan struct{}
	// Changed returns the ids of the channels whose view may have changed for the user since the
	// last call, each once, in no order. These are the channels of the user's deltas, each large
	// channel of theirs whose record changed, and channels, also of others, whose labels changed or
	// that were archived or not any more.
	Changed() []string
	// Stop ends the watch. It may be called more than once.
	Stop()
}
