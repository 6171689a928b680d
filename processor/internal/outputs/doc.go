// Package outputs decides who may publish a partition, publishes, and commits what is published. So
// the last record of a key in the output topics is the owner's, even if a former owner writes late.
// The package does not know what is folded or when it is drained.
//
// Its files, in the order in which to read them:
//
//	lease.go         no request leaves once the member's session may have ended
//	asleep_linux.go  the lease's clock goes on while the machine sleeps
//	asleep_other.go  on other systems it does not
//	roster.go        producers that may still write, stored beside the group's offsets
//	fence.go         brokers are made to refuse the producers of former owners
//	publish.go       sets of records to the brokers, retried until they are acknowledged
//	commit_sync.go   one request to the group's coordinator
//	commit.go        group offsets, never beyond what is acknowledged, and never back
package outputs
