// Package matrix is a small client of a Matrix server, for tests that play what users do.
//
// Every call is repeated while the server does not answer or fails with an error of its own, as
// during a restart. So each call must be safe to send twice. Only Register and CreateRoom are not.
//
//	client.go  a server, its users, and calls that are repeated
//	rooms.go   rooms and their members
//	send.go    messages, edits, reactions, redactions
//	reads.go   receipts, mutes and marks
//	sync.go    what the server tells a user to be unread
package matrix
