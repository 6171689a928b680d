// Package projections is the fold of DESIGN §4 and its store.
//
// An event's way through the files: what is known, what an event does to it, what is told of that, what is kept of it.
//
//	state.go     channels, users and pairs, without pointers   find.go      each by what names it
//	timeline.go  what chat.messages does to a channel          post.go      a new message in it
//	members.go   who belongs to it                             reads.go     what chat.reads does to a pair
//	held.go      what of it waits for the timeline             suffix.go    its normal form
//	delivery.go  what chat.deliveries does to a pair           view.go      what a user sees
//	drain.go     what has changed since the last drain         delta.go     the records that tell it
//	store.go     what is written, and what is out of date      records.go   its bytes
//	cut.go       all that is out of date, in one batch         open.go      a store is read back
//
// A query that reads much of the store looks at memory under the partition's lock, and reads what is stored after that, as it
// was then: moment.go, moment_log.go, receipt_walk.go, explain.go.
//
// Channels, users and pairs are in slabs (slab.go, table.go, blobs.go); log.go and index.go keep the messages, with
// entry.go, seqset.go the sets of them. The files of threads and receipts begin with thread and receipt. A cut holds
// what changed, in packed pages, with the position it stands for. Nothing here knows Kafka, Redis, a wall clock or a
// goroutine.
package projections
