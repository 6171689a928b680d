// Package travel answers queries as of a moment of the past: why was the count 7 at 10:32?
//
// A moment is a time, or the as_of of an earlier answer. Kafka has the offsets of a partition's
// logs at that time. Guide downloads the newest snapshot before these offsets, or begins with the
// first records if there is none. The code of a rebuild folds the records up to the offsets, into a
// directory that is removed after the answer. Package query makes the answer, so it equals what a
// live node answered at that position.
//
//	moment.go    a moment, as people and programs write it
//	logs.go      the offsets of the logs at that moment
//	base.go      the snapshot that the fold begins with, and moments that retention has removed
//	trip.go      the partitions of one question, folded to the moment
//	guide.go     Guide: serves the query API as of a moment, and bounds the cost
//	transport.go calls to a Guide of this process
//	diff.go      what changed for a user between two moments
//	records.go   the records between two positions
package travel
