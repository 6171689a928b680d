// Package views answers what users and operators ask of a partition: what a user sees of channels
// and threads, who read and got a message, and why a number is what it is.
//
// A query looks at memory under the partition's RLock. What it needs of the store it reads after
// that, as it was then (moment.go), while the fold goes on.
//
//	types.go             what is answered
//	queries.go           Queries, and what they need of a store
//	channel.go           what a user sees of a channel; their inbox
//	line.go              the seq of a line that was set by id
//	standing.go          how a channel enters a user's totals
//	thread.go            what a user sees of a thread; their threads
//	user_rows.go         the channels in which something is known of a user
//	moment.go            what is stored of a channel at one position
//	moment_log.go        the messages of a channel at a moment
//	room.go              memory of views, made before the lock is taken
//	views.go             views of one position, completed without the lock
//	sweep.go             all channels and threads of a user, under several holds of the lock
//	sweep_list.go        the list that a sweep makes
//	sweep_warm.go        touching the memory that a sweep needs next
//	receipt_view.go      who read and got a message: what memory says
//	receipt_walk.go      what the store says
//	receipt_blocks.go    the blocks of receipts that a walk reads
//	receipt_readers.go   how far each member read
//	explain.go           why a user's numbers are what they are
package views
