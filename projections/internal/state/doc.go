// Package state is what a partition has in memory: channels, users and pairs, how far its inputs
// were folded, and the marks that the rules leave for drains and cuts. It knows no database and no
// lock. What memory does not have it asks of a Backing.
//
//	state.go         State, the marks, and what is asked of the store
//	rows.go          channels, pairs and users, most of them without pointers
//	pair.go          what few pairs have besides: events that wait, sets, memberships
//	said.go          what a user says of a channel beside reading it
//	filed.go         the message that ends the filing of a channel
//	own.go           a user's own posts, and which of them read
//	hidden.go        messages that are in none of a user's numbers
//	thread.go        threads, and who follows them
//	with_threads.go  how far reads of a channel with its threads go
//	outcome.go       what folding one record did
//	find.go          each of them by what names it
//	member_list.go   the members of a channel, in the order of their first join
//	span.go          who was a member when a message was posted
//	positions.go     positions of messages, and the stamp of a pair
//	log.go           the messages of a channel
//	index.go         their ids
//	seeded.go        messages that a channel had before its topics began
//	newest.go        when the newest message was posted
//	size.go          which messages are small
//	waiters.go       which rows wait for what
//	dirty.go         what the next cut has to write
//	marks.go         what the next drain has to look at
//	telling.go       which receipts say more than others
//	warm.go          touching the memory that the next events need
//	heap_bytes.go    how much memory it is
package state
