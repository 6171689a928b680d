// Package inspect is `tidemark inspect`: it looks into stores, snapshots and topics, and changes
// none of them. It shows ids, times and counts, never the text of a message.
//
//	inspect.go     the verbs
//	store.go       what a store directory contains
//	snapshot.go    what a snapshot contains
//	look.go        what a store or a snapshot holds about a channel or a user
//	look_print.go  the same for people
//	topic.go       the partitions of a topic, and some of its records
//	describe.go    a record in a line
package inspect
