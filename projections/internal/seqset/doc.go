// Package seqset is the set of message numbers of one channel: who was mentioned where, what was
// deleted, what was read singly.
//
//	change.go          what is added and removed
//	seqset.go          the set and its ranks
//	seqset_record.go   its stored form
package seqset
