// Package rules is the fold of DESIGN §4: what an event does to a state, and what a user sees of
// it. It knows no database, no lock and no clock, so the stories run on it alone.
// Each file calls only files that stand below it here: first what events do, then what they leave
// behind for drains, cuts and later events, then what a user sees.
//
//	rules.go           Fold, a state with its rules
//	timeline.go        what chat.messages does to a channel
//	seeded.go          the messages that a channel begins with
//	post.go            a new message
//	members.go         who joins and who leaves
//	delete.go          a channel is deleted
//	threads.go         what a message does to threads
//	reads.go           what chat.reads does to a pair
//	wake.go            which rows a message, or the time, settles
//	receipts.go        what becomes a receipt
//	delivery.go        what chat.deliveries does to a pair
//	follows.go         who follows a thread, and reads that reach threads
//	viewed.go          which messages a user played or opened
//	hidden.go          messages that are in none of a user's numbers
//	filed.go           a channel that a user filed
//	flag.go            a user's flag on a channel
//	said.go            what a user says of a channel beside reading it
//	erase.go           a user is erased
//	deleted_reads.go   a read of a channel that is deleted
//	await.go           what the rows that wait for something wait for
//	receipt_marks.go   receipts to publish and to store
//	republish.go       what a store that is ahead of the group publishes once more
//	marks.go           what the next drain has to look at
//	signature.go       a hash of what a delta says, to tell whether an event changed it
//	thread_scope.go    what a user sees of a thread
//	with_threads.go    reads of a channel that read its threads too
//	counts.go          what is unread for a user in a channel
//	excluded.go        the positions that a delta of a large channel lists
//	queued.go          what was queued for a user who could not be reached
//	stands.go          which flags and filings still hold
//	scope.go           what a user's reads come to
package rules
