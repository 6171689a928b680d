// Package processor is the consumer group member that runs the fold (DESIGN §6): which partitions
// this process owns, how a partition is opened, in which order its records are folded, published,
// committed and stored, and what queries may read. A Processor puts together the packages under
// internal, each of which has a map of its own:
//
//	internal/setup    the configuration, and the fold of a partition
//	internal/life     the states of a partition and the transitions between them
//	internal/arrivals watches of users in all partitions
//	internal/failure  which failures may pass by themselves
//	internal/group    which member owns and which ones tail a partition
//	internal/outputs  who may publish, publishing, and the group's offsets
//	internal/merge    the inputs of a partition in the order of their timestamps
//	internal/metrics  counters and histograms
//	internal/opening  where the fold of a partition begins
//	internal/inbox    the door of a partition's goroutine
//	internal/engine   what the brokers say about the topics
//	internal/fetch    from the brokers into the inboxes
//	internal/home     the store of a partition on this node's disk
//	internal/steps    the goroutine that folds a partition
//	internal/rebuild  the topics are folded into fresh stores, without a group
//
// The files of this package, in the order in which to read them:
//
//	config.go           the configuration of a Processor
//	processor.go        New and Run
//	client.go           the Kafka clients of a member
//	workers.go          the workers that a Processor has, and the memory that they share
//	host.go             what the workers of a Processor call
//	assign.go           the group gives partitions to this member and takes them away
//	membership.go       a client that was out of its group joins again without telling
//	settings.go         members that fold with other settings
//	heartbeat.go        how long the session lasts
//	open.go             a worker whose store is open begins to fold
//	postponed.go        a partition whose store takes long does not hold up the others
//	poll.go             fetched records go to the inboxes
//	release.go          workers end, in order or at once
//	shutdown.go         the member ends and leaves its group
//	standbys.go         which partitions this member tails for others
//	standbys_follow.go  how far they may fold, and when they are near
//	snapshots.go        snapshots of stores are taken
//	sweep.go            stores of partitions that have moved away are removed
//	state.go            the words for the state of a partition
//	node.go             the API for queries and operators
//	members.go          what the members of a group say of themselves
//	collector.go        gauges
//	rebuild.go          the API of rebuilds
//
// What stays true, whatever fails:
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
