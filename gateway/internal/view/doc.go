// Package view is what a user sees of channels and threads, as the gateway keeps it and writes it
// into frames.
//
//	view.go       a channel or a thread, from a delta or from an answer of the query service
//	said.go       what the user says of a channel beside what they read (DESIGN §4.7)
//	whole.go      what was said of a channel as a whole, and what it adds to a view
//	firsts.go     which messages are the first unread one and the first mention of a large channel
//	inbox.go      the frame of an inbox, up to the totals
//	sums.go       the totals of a user
//	position.go   how far an answer reaches, and whether it covers a delta
//	highest.go    the highest of some numbers
package view
