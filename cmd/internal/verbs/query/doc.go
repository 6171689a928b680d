// Package query is `tidemark query`: it calls a running node and prints the answer.
//
//	query.go       the verbs, and how one call is made
//	past.go        the same as of a moment of the past
//	unread.go      one user in one channel
//	inbox.go       a user's channels
//	threads.go     a user's threads
//	explain.go     the messages behind a number
//	channel.go     one channel
//	receipts.go    who received a message, and how far the members have read
//	settings.go    a user's and the server's settings of a channel
//	watch.go       a user's numbers as they change
//	watch_view.go  draws the watch on a terminal, or prints it as lines
package query
