// Package pending is what the rules keep of reads, marks and deliveries that the timeline has not
// decided yet: in which form they wait, when each is decided, and where a user's pointer stands
// while they wait (DESIGN §4.3).
//
//	suffix.go        Held, and the events that wait, in normal form
//	floors.go        marks whose head is open
//	resolve.go       whether the timeline has decided what an event names
//	evaluate.go      where the pointer stands while events wait
//	own.go           the own posts of a user, which move the pointer as reads do
//	with_threads.go  reads of the channel that read its threads too
package pending
