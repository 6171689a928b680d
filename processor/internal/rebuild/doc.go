// Package rebuild folds the topics into fresh stores, without a group and without publishing: the
// same steps as those of a live node that opens a partition, up to where the node would go live.
//
//	rebuild.go     the start and end of each partition's fold
//	feed.go        the clients that fetch
//	partitions.go  the workers, one for each processor at a time
package rebuild
