// Package views answers what users and operators ask of a partition: what a user sees of channels
// and threads, who read and got a message, and why a number is what it is.
//
// A query looks at memory under the partition's RLock. What it needs of the store it reads after
// that, as it was then (moment.go), while the fold goes on.
// Each file calls only files that stand below it here, but types.go and queries.go are for all.
//
//	types.go             what is answered
//	queries.go           Queries, and what they need of a store
//	together.go          views of several channels and threads, all at one position
//	channel.go           what a user sees of a channel; their inbox
//	thread.go            what a user sees of a thread; their threads
//	members.go           who belongs to a channel
//	known.go             who may be known, asked without a lock
//	user_rows.go         the channels in which something is known of a user
//	sweep.go             all channels and threads of a user, under several holds of the lock
//	sweep_warm.go        touching the memory that a sweep needs next
//	sweep_room.go        how much a hold looks at, and the room for it
//	sweep_list.go        the list that a sweep makes
//	sweep_memory.go      what a sweep has found so far
//	standing.go          how a channel enters a user's totals
//	receipt_readers.go   how far each member read
//	receipt_view.go      who read and got a message: what memory says
//	receipt_walk.go      what the store says
//	receipt_found.go     what an entry of either says of a recipient
//	receipt_blocks.go    the blocks of receipts that a walk reads
//	explain.go           why a user's numbers are what they are
//	views.go             the messages that views name, read without the lock
//	room.go              memory of views, made before the lock is taken
//	line.go              the seq of a line that was set by id
//	moment_log.go        the messages of a channel at a moment
//	moment.go            what is stored of a channel at one position
package views
