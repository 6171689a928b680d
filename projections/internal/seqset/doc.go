// Package seqset has sets of a channel's message numbers, such as mentions of a user, deleted
// messages, and messages read singly.
//
//	change.go          adding and removing
//	seqset.go          the set and its ranks
//	seqset_record.go   its stored form
package seqset
