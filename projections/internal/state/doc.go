// Package state has a partition's data in memory: channels, users and pairs, the positions of its
// inputs, and the marks that the rules leave for drains and cuts. It uses no database and no lock.
// A Backing gives it records that are not in memory.
//
//	state.go         State, the marks, and access to the store
//	rows.go          channels, pairs and users, most of them without pointers
//	rare.go          what a row implies, and the rest of it
//	pair.go          data that few pairs have: waiting events, sets, memberships
//	settings.go      a user's settings of a channel
//	filed.go         the message that ends the filing of a channel
//	own.go           a user's own posts, and which of them read
//	hidden.go        messages that are in none of a user's numbers
//	thread.go        threads and follows
//	with_threads.go  how far reads of a channel with its threads reach
//	outcome.go       results of folding a record
//	find.go          lookup by id
//	member_list.go   the members of a channel, in the order of their first join
//	other_rows.go    the rows of a channel without an ordinal: of guests, and of users in its threads
//	channel_rows.go  all rows of a channel
//	span.go          memberships, to find the recipients of a message
//	positions.go     positions of messages, and the stamp of a pair
//	log.go           the messages of a channel
//	fan_out.go       what the deltas of a channel's members have in common
//	index.go         the index of their ids
//	ending.go        which blocks of the log a cut trims
//	ended_times.go   times of messages whose block is trimmed, or may be
//	mentioned_by.go  whom a trimmed message mentions
//	seeded.go        messages that a channel had before its topics began
//	newest.go        the time of the newest message
//	size.go          which messages are small
//	waiters.go       triggers: which rows wait for an id, a seq or a time
//	dirty.go         marks for the next cut
//	marks.go         marks for the next drain
//	shown.go         the messages that the last delta of a pair named
//	warm.go          what package warming found for the next events
//	heap_bytes.go    the memory that all of this takes
package state
