// Package outputs grants the right to publish a partition, publishes, and commits published
// offsets. It ensures that the last record of a key in the output topics is the owner's, even if a
// former owner writes late. It has no notion of folding and draining.
//
// Its files, in the order in which to read them:
//
//	lease.go         no request leaves once the member's session may have ended
//	asleep_linux.go  the lease's clock goes on while the machine sleeps
//	asleep_other.go  on other systems it does not
//	roster.go        producers that may still write, stored beside the group's offsets
//	fence.go         making brokers refuse the producers of former owners
//	compress.go      compressing record batches
//	outgoing.go      what a partition publishes at a time
//	publish.go       publishing sets of records, with retries until they are acknowledged
//	commit_sync.go   one request to the group's coordinator
//	commit.go        group offsets, never beyond what is acknowledged, and never back
package outputs
