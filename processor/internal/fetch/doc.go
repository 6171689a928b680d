// Package fetch brings records from the brokers into inboxes. It knows no worker, no store and no
// group.
//
// Its files, in the order in which to read them:
//
//	deliver.go  fetched records, or the error of a fetch, go to an inbox
//	feeder.go   a client outside the group fetches for standbys and rebuilds
//	reader.go   a rebuild fetches record batches itself; the folding goroutine decodes them
package fetch
