// Package travel answers queries as of a moment of the past: why was it 7 at 10:32?
//
// A moment is a time, or the as_of of an earlier answer. Kafka says where the logs of a partition
// stood then. The nearest snapshot from before is downloaded (the beginning of the logs if there is
// none), and the records up to there are folded over it by the code of a rebuild, into a directory
// that is removed after the answer. The answer is that of package query, so it equals what a live
// node answered at that position.
//
//	moment.go    a moment, as people and programs write it
//	logs.go      where the logs stood then
//	base.go      the snapshot that the fold begins with, and what retention no longer reaches
//	trip.go      the partitions of one question, folded to the moment
//	guide.go     Guide: serves the query API as of a moment; what it may cost
//	transport.go calls to a Guide of this process
//	diff.go      what changed for a user between two moments
//	records.go   the records between two positions
package travel
