// Package rebuild folds the topics into fresh stores, without a group and without publishing: the
// same steps as those of a live node that opens a partition, up to where the node would go live.
//
//	rebuild.go     from where to where each partition is folded
//	feed.go        the clients that fetch for them
//	partitions.go  the workers, as many at a time as there are processors
package rebuild
