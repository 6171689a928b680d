// Package fetch fetches records from the brokers into inboxes. It has no notion of workers, stores
// and groups.
//
// Its files, in the order in which to read them:
//
//	deliver.go  passing fetched records, or the error of a fetch, to an inbox
//	feeder.go   a client outside the group that fetches for standbys and rebuilds
//	asking.go   requests for record batches, which the folding goroutine decodes
//	gate.go     waiting while an input is paused
//	reader.go   fetching record batches in a rebuild
//	catchup.go  the same for live partitions that are far behind
package fetch
