// Package rules is the fold of DESIGN §4: the effects of events on a state, and the views of users.
// It uses no database, no lock and no clock, so the stories run on it alone. Each file calls only
// files below it in this list: first come the effects of events, then the marks that they leave for
// drains, cuts and later events, then the views.
//
//	rules.go           Fold, a state with its rules
//	timeline.go        the effects of chat.messages on a channel
//	seeded.go          seeded messages
//	post.go            a new message
//	members.go         joins and leaves
//	delete.go          deleting a channel
//	threads.go         the effects of a message on threads
//	reads.go           the effects of chat.reads on a pair
//	wake.go            the rows that a message, or log time, settles
//	receipts.go        making receipts of reads
//	delivery.go        the effects of chat.deliveries on a pair
//	follows.go         follows of threads, and reads that reach threads
//	viewed.go          messages that a user played or opened
//	hidden.go          messages that are in none of a user's numbers
//	filed.go           a channel that a user filed
//	flag.go            a user's flag on a channel
//	settings.go        a user's settings of a channel
//	erase.go           erasing a user
//	deleted_reads.go   reads of a deleted channel
//	await.go           triggers of waiting rows
//	receipt_marks.go   receipts to publish and to store
//	marks.go           marks for the next drain
//	signature.go       a hash of a delta, to detect whether an event changes it
//	thread_scope.go    the view of a thread
//	with_threads.go    reads of a channel that read its threads too
//	counts.go          unread counts
//	excluded.go        the positions that a delta of a large channel lists
//	queued.go          messages queued for a user who was offline
//	scope.go           the effect of a user's reads on a scope
package rules
