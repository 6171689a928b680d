// Package projections is the fold of DESIGN §4 and its store: one Partition for each partition
// number.
//
// Rules change state and leave marks; work (drains, cuts, loads, queries) reads state and marks;
// the store knows bytes and keys, and no channels. A Partition has all of them, and the lock.
//
//	partition.go        a partition, its lock, its sizes, its memory
//	names.go            names of the rooms below that are part of this package's surface
//	answers.go          those of the queries
//	fold.go             folding
//	hold.go             no hold of the lock is long
//	drain.go            what changed since the last drain
//	drain_warm.go       touching the memory that a drain needs next
//	delta.go            the records of pairs and channels
//	receipt_out.go      those of receipts
//	farewell.go         those of users of whom nothing is left in a deleted channel
//	republish.go        publishing once more what an owner before may have published
//	store.go            what the rules ask of the store
//	records.go          the bytes of channels and pairs
//	thread_store.go     the bytes of threads
//	receipt_store.go    blocks of receipts
//	cut.go              all that is out of date, in one batch
//	cut_state.go        what of channels and pairs is out of date
//	cut_batch.go        a cut, and what it has written so far
//	leave.go            what is gone leaves memory behind a cut
//	leave_threads.go    threads that nobody follows any more do
//	open.go             a store is opened and closed
//	load.go             its records become state
//	cold.go             channels that are in the store alone
//	checkpoint.go       a copy of the store on disk, of all of it or of some channels
//	inspect.go          what a store holds, without opening it as a partition
//	readonly.go         a store that is only read
//	compare.go          how two stores differ
//	compare_views.go    how what users see differs
//
// The rooms, each of which may know those before it:
//
//	internal/wire, keys, seqset, arena   fields and names of records, sets of messages, memory
//	internal/overlay, identity           what is written and not cut yet; what a store belongs to
//	internal/history, receipts           entries of the log and the index; blocks of receipts
//	internal/state                       channels, users, pairs, and marks
//	internal/rules                       what an event does to them
//	internal/records                     the bytes of rows and of what few pairs have
//	internal/views                       what users see
//	internal/outbox                      the records that a drain collects
//	internal/store                       the database and its disk
package projections
