// Package held has the events of a user that wait: those that the timeline has not decided yet, and
// those that stand behind one of them. It also has what reads of a channel leave for its threads.
//
//	event.go         an event, and the open head of an applied mark
//	with_threads.go  how far a user's reads of a channel with its threads reach
package held
