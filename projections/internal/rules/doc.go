// Package rules is the fold of DESIGN §4: what an event does to a state, and what a user sees of
// it. It knows no database, no lock and no clock, so the stories run on it alone.
//
//	rules.go           Fold, a state with its rules
//	timeline.go        what chat.messages does to a channel
//	post.go            a new message in it
//	members.go         who joins and who leaves
//	seeded.go          the messages that a channel begins with
//	delete.go          a channel is deleted
//	reads.go           what chat.reads does to a pair
//	deleted_reads.go   a read of a channel that is deleted
//	said.go            what a user says of a channel beside reading it
//	flag.go            a user's flag on a channel
//	filed.go           a channel that a user filed
//	hidden.go          messages that are in none of a user's numbers
//	wake.go            which rows a message, or the time, settles
//	threads.go         what a message does to threads, and a user to the threads that they follow
//	delivery.go        what chat.deliveries does to a pair
//	with_threads.go    reads of a channel that read its threads too
//	receipts.go        what becomes a receipt
//	viewed.go          which messages a user played or opened
//	receipt_marks.go   receipts to publish and to store
//	erase.go           a user is erased
//	counts.go          what a user sees of a channel
//	thread_scope.go    what a user sees of a thread
//	follows_time.go    whether a read is up to a time that messages may still come before
//	marks.go           what the next drain has to look at
package rules
