// Package projections is the fold of DESIGN §4 and its store: one Partition for each partition
// number.
//
// Rules change state and leave marks. Work (drains, cuts, loads, queries) reads state and marks.
// The store handles bytes and keys, and has no notion of channels. A Partition combines all three
// and holds the lock.
//
//	partition.go        a partition, its lock, its sizes, its memory
//	names.go            names of inner packages that belong to this package's surface
//	answers.go          names of the types of queries
//	fold.go             folding
//	hold.go             short holds of the lock
//	drain.go            everything that changed since the last drain
//	delta.go            the records of pairs and channels
//	receipt_out.go      the records of receipts
//	farewell.go         the records of users who have nothing left in a deleted channel
//	republish.go        publishing again what a former owner may have published
//	store.go            what the rules read from the store
//	records.go          the bytes of channels and pairs
//	thread_store.go     the bytes of threads
//	receipt_store.go    blocks of receipts
//	cut.go              encoding all dirty state into one batch, and applying it
//	cut_state.go        the dirty records of channels and pairs
//	cut_batch.go        a cut, and what it has written so far
//	leave.go            freeing memory after a cut
//	leave_threads.go    freeing the memory of threads that nobody follows any more
//	open.go             opening and closing a store
//	load.go             turning stored records into state
//	rest.go             taking channels out of memory
//	resting.go          which channels may leave
//	cold.go             channels that are in the store only
//	cold_read.go        reading them for queries
//	fetch.go            reading them for events
//	listing.go          listing them after a store was opened
//	checkpoint.go       a copy of the store on disk, of all of it or of some channels
//	inspect.go          the contents of a store, without opening it as a partition
//	readonly.go         a store opened for reading only
//	compare.go          how two stores differ
//	compare_views.go    how the views of users differ
//
// The inner packages. Each may import only the packages in the lines above it:
//
//	internal/wire, keys, seqset, arena   fields and names of records, sets of messages, memory
//	internal/overlay, identity           records written since the last cut; the identity of a store
//	internal/history, receipts           entries of the log and the index; blocks of receipts
//	internal/held                        events that wait
//	internal/cold                        what memory keeps of channels that are in the store only
//	internal/state                       channels, users, pairs, and marks
//	internal/rules                       the effects of an event on them
//	internal/warming                     touching the memory that the fold or a drain needs next
//	internal/records                     the bytes of rows and of the extras that few pairs have
//	internal/giveway                     queries first, where a fold or a compaction has the core
//	internal/loading                     stored records into state
//	internal/views                       the views of users
//	internal/outbox                      the records that a drain collects
//	internal/differ                      the records in which two stores differ
//	internal/store                       the database and its disk
package projections
