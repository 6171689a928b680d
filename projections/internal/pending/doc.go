// Package pending has the rules for reads, marks and deliveries that the timeline has not decided
// yet: the form in which they wait, when each is decided, and where a user's pointer is meanwhile
// (DESIGN §4.3).
//
//	suffix.go        Fold, and the pending events in normal form
//	floors.go        marks with an open head
//	resolve.go       whether the timeline has decided what an event names
//	evaluate.go      where the pointer is while events wait
//	own.go           the own posts of a user, which move the pointer as reads do
//	with_threads.go  reads of the channel that read its threads too
//	limit.go         how many events may wait
//	outcome.go       the outcome of an event that changed nothing
//	stands.go        flags and filings, which later messages end; queued messages
package pending
