// Package recheck is the check that never ends: a running node derives a few random channels a
// minute from the log again, and counts whether its answers are the same.
//
// A round takes some channels that recent records name. It copies what the store of
// their partition has of them as of its last cut, and waits. Then it notes what the node answers
// about them, and up to which position; folds the records from the cut to there over the copy, as a
// rebuild does; and compares. So a round reads a bounded piece of the logs, holds a few channels in
// memory, and neither stops the fold nor holds its lock longer than a query does.
//
// What it finds: answers that differ from what the stored state and the log give, such as a change
// that was lost in memory or between two cuts. What it cannot find: a state that was wrong already
// when it was stored. `tidemark verify` derives everything from the start of the log.
//
//	outcomes.go  what a check found, as a metric and a log line
//	sample.go    random channels, out of the logs
//	seen.go      what the node answers about a channel, and how two answers differ
//	round.go     one round: copy, wait, note, fold, compare
//	recheck.go   Checker: rounds, one after the other
package recheck
