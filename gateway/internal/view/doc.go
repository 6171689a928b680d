// Package view has a user's views of channels and threads, as the gateway stores them and encodes
// them in frames.
//
//	view.go       a channel or a thread, from a delta or from an answer of the query service
//	details.go    a user's settings of a channel (DESIGN §4.7)
//	whole.go      a channel's labels and archiving, and their part in a view
//	firsts.go     the first unread message and the first mention of a large channel
//	inbox.go      the frame of an inbox, up to the totals
//	sums.go       the totals of a user
//	position.go   positions of answers, and whether one covers a delta
//	highest.go    the highest of some numbers
package view
