// Package views answers the queries of users and operators about a partition: views of channels and
// threads, receipts, and explanations of a count.
//
// A query reads memory under the partition's RLock. Afterwards it reads the store as it was then
// (moment.go), while the fold goes on. Each file calls only files below it in this list; types.go
// and queries.go are for all.
//
//	types.go             the types of answers
//	queries.go           Queries, and the part of a store that they read
//	together.go          views of several channels and threads, all at one position
//	channel.go           the view of a channel; the inbox of a user
//	thread.go            the view of a thread; a user's threads
//	members.go           the members of a channel
//	known.go             which users a partition may have, without a lock
//	user_rows.go         the channels in which a user has a row
//	sweep.go             all channels and threads of a user, under several holds of the lock
//	sweep_warm.go        touching the memory that a sweep needs next
//	sweep_grow.go        the limits of a hold, and its memory
//	sweep_list.go        the list that a sweep returns
//	sweep_memory.go      the memory of a sweep
//	standing.go          what a channel contributes to a user's totals
//	receipt_readers.go   how far each member has read
//	receipt_view.go      receipts of a message: the part in memory
//	receipt_walk.go      receipts of a message: the part in the store
//	receipt_found.go     applying an entry of either part to a recipient
//	receipt_blocks.go    the blocks of receipts that a walk reads
//	explain.go           explanations of a count
//	views.go             messages that views name, read without the lock
//	view_memory.go       memory of views, allocated before the lock is taken
//	line.go              finding the seq of a line that was set by id
//	moment_log.go        the messages of a channel at a moment
//	moment.go            a read-only view of stored records at one position
package views
