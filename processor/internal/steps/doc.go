// Package steps folds one partition: a worker per partition, whose goroutine takes one step after
// the other. A step takes the news from the inbox, folds some records, and publishes and stores
// their changes. Other packages decide who owns the partition, where its store comes from and who
// fetches its records.
//
// Its files, in the order in which to read them:
//
//	worker.go      the state of a worker, and what one step does
//	lifecycle.go   from the opening of the store to its closing, and who runs workers
//	opening.go     up to the group's offsets nothing is published; then the partition is live
//	standby.go     a worker that follows another member's, until it is promoted
//	folding.go     records are picked, decoded, judged, folded and counted
//	batch.go       the records on their way from fetched to folded
//	breaker.go     too many bad records stop the partition
//	deadletter.go  the copy of a bad record
//	traced.go      the spans of records that carry a trace, from fold to publishing
//	draining.go    what changed goes to the brokers, then to the group's offsets and the store
//	holding.go     a cut that forgets what was published waits for the group's offsets
//	diskfull.go    while the disk is full nothing is folded
//	failing.go     a failure stops the partition; one that may pass by itself is tried again later
//	progress.go    the position as others see it, and who waits for it
//	hub.go         watchers, and the channels that change for their users
//	status.go      what others see of a worker
package steps
