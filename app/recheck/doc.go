// Package recheck is a continuous check: a running node derives a few random channels a minute from
// the log again, and counts whether its answers are the same.
//
// A round takes some channels that recent records name. It copies their stored records as of the
// last cut of their partition, and waits. Then it records the node's answers about them, with their
// position. It folds the records from the cut to that position over the copy, as a rebuild does,
// and compares. So a round reads a bounded part of the logs and holds a few channels in memory. It
// neither stops the fold nor holds its lock longer than a query.
//
// The check finds answers that differ from the result of the stored state and the log, such as a
// change that was lost in memory or between two cuts. It cannot find a state that was already wrong
// when it was stored. `tidemark verify` derives everything from the start of the log.
//
//	outcomes.go  the outcome of a check, as a metric and a log line
//	sample.go    random channels from the logs
//	seen.go      the node's answers about a channel, and differences between two answers
//	round.go     one round: copy, wait, record, fold, compare
//	recheck.go   Checker: rounds, one after the other
package recheck
