// Package fetch fetches records from the brokers into inboxes. It has no notion of workers, stores
// and groups.
//
// Its files, in the order in which to read them:
//
//	deliver.go  passing fetched records, or the error of a fetch, to an inbox
//	feeder.go   a client outside the group that fetches for standbys and rebuilds
//	reader.go   fetching record batches in a rebuild; the folding goroutine decodes them
package fetch
