// Package processor is the consumer group member that runs the fold (DESIGN §6): which partitions this process owns,
// how a partition is opened, in which order its records are folded, published, committed and stored, and what a query
// may know of it.
//
// A record's way through the files:
//
//	balancer.go   partition p of all inputs is assigned to one member     assign.go    what is done about it
//	open.go       where a partition starts, and until where it is silent  poll.go      records into the inboxes
//	merge.go      the three inputs in the order of their timestamps       folding.go   decode, judge, fold
//	batches.go    those of a rebuild are decoded as they are picked       rebuild_fetch.go  and fetched apart
//	worker.go     the steps of one partition                              draining.go  what changed, to outputs and store
//	publish.go    to the brokers, and acknowledgements                    commit.go    group offsets
//	lifecycle.go  how a partition begins and ends                         hub.go       who watches what changed
//
// What stays true, whatever fails:
//
//   - The store of a partition never holds a position beyond what was acknowledged by the output topics (draining.go).
//   - A group offset is only committed when everything up to it was published, and never goes back (commit.go).
//   - At most one set of a partition's output records is in flight, so a retry never overtakes a newer value (publish.go).
//   - A bad record moves the position in the same batch in which its dead letter is published (folding.go).
//   - What fails, fails one partition (worker.go). The others go on.
//
// The rules of the fold and the formats of its store are in package projections, and are not known here.
package processor
