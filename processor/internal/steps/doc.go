// Package steps folds partitions. Each has a worker, whose goroutine takes one step after the
// other: a step takes the news from the inbox, folds some records, and publishes and stores their
// changes. Other packages assign the partition, provide its store and fetch its records.
//
// Its files, in the order in which to read them:
//
//	worker.go      the state of a worker, and one step
//	lifecycle.go   from the opening of the store to its closing, and the interface of hosts
//	opening.go     replaying up to the group's offsets; then the partition is live
//	listing.go     then it lists the channels that did not fit into memory
//	standby.go     a worker that follows another member's, until its promotion
//	folding.go     picking, decoding, judging, folding and counting records
//	batch.go       a batch of records from fetched to folded
//	breaker.go     stopping a partition with too many bad records
//	deadletter.go  the copy of a bad record
//	traced.go      the spans of records that carry a trace, from fold to publishing
//	joining.go     how long a partition that is behind joins its changes
//	draining.go    what changed goes to the brokers, then to the group's offsets and the store
//	holding.go     a cut that forgets what was published, or that is made beside cold channels, waits
//	               for the group's offsets
//	diskfull.go    while the disk is full nothing is folded
//	failing.go     a failure stops the partition; one that may pass by itself is tried again later
//	progress.go    the position as others see it, and who waits for it
//	hub.go         watchers, and the channels that change for their users
//	copying.go     copies of the store, and compactions before them
//	status.go      the status of a worker
package steps
