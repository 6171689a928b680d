package watch

// Arrivals collects the partitions of a node in which something changes for one user and that no
// Watcher follows for them yet: above all those in which there was nothing of the user before. It
// coalesces as a Watcher does.
type Arrivals interface {
	// Signal receives when Partitions has something to return. It is closed when any partition
	// stops being live on this node.
	Signal() <-chan struct{}
	// Partitions returns where something changed since the last call, each partition once, in
	// order. There may be some in which the user has nothing.
	Partitions() []int32
	// Follow says that a Watcher follows a partition from now on: it is not returned any more.
	Follow(partition int32)
	// Stop ends it. It may be called more than once.
	Stop()
}
