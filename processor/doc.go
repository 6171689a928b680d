// Package processor is the consumer group member that runs the fold (DESIGN §6). It determines
// which partitions this process owns, how a partition is opened, the order in which its records are
// folded, published, committed and stored, and which partitions queries may read. A Processor
// combines the packages under internal, each of which has a map of its own:
//
//	internal/setup    the configuration, and the fold of a partition
//	internal/life     the states of a partition and the transitions between them
//	internal/arrivals watches of users in all partitions
//	internal/failure  failures that may pass by themselves, and others
//	internal/group    the members that own and tail a partition
//	internal/batches  record batches in the brokers' format
//	internal/sender   producing record batches
//	internal/outputs  the right to publish, publishing, and the group's offsets
//	internal/merge    merging the inputs of a partition by timestamp
//	internal/metrics  counters and histograms
//	internal/opening  the start of the fold of a partition
//	internal/inbox    messages to a partition's goroutine
//	internal/engine   the brokers' data about the topics
//	internal/fetch    fetching from the brokers into the inboxes
//	internal/home     the store of a partition on this node's disk
//	internal/steps    the goroutine that folds a partition
//	internal/rebuild  folding the topics into fresh stores, without a group
//
// The files of this package, in the order in which to read them:
//
//	config.go           the configuration of a Processor
//	processor.go        New and Run
//	client.go           the Kafka clients of a member
//	workers.go          the workers of a Processor, and the memory that they share
//	host.go             the callbacks of a Processor's workers
//	assign.go           the group assigns and revokes partitions
//	membership.go       a client that was out of its group and silently joins again
//	settings.go         members with other settings
//	heartbeat.go        keeping the session alive
//	open.go             starting a worker whose store is open
//	postponed.go        starting a partition late whose store takes long to open
//	poll.go             passing fetched records to the inboxes
//	release.go          ending workers, in order or at once
//	shutdown.go         ending the member, which leaves its group
//	standbys.go         the partitions that this member tails for others
//	standbys_follow.go  how far standbys may fold, and when they are near
//	snapshots.go        taking snapshots of stores
//	sweep.go            removing stores of partitions that have moved away
//	state.go            names for the state of a partition
//	node.go             the API for queries and operators
//	members.go          the data that members of a group publish
//	collector.go        gauges
//	rebuild.go          the API of rebuilds
//
// The invariants, whatever fails:
//
//   - The store of a partition never holds a position beyond what the brokers have acknowledged
//     (internal/steps).
//   - A group offset is committed only after everything up to it was published, and never goes back
//     (internal/outputs).
//   - At most one set of a partition's output records is in flight, so a retry never overtakes a
//     newer value (internal/outputs).
//   - A partition is published only after the brokers refuse every former owner that did not leave
//     in order, and no longer once the session may have ended (internal/outputs).
//   - A bad record moves the position in the same batch in which its dead letter is published
//     (internal/steps).
//   - A failure ends one partition, and the others go on (internal/steps).
//
// The rules of the fold and the formats of its store are in package projections.
package processor
