// Package merge puts the three inputs of one partition into the order in which they are folded: the
// earliest timestamp first. It holds fetched records that are not folded yet, and decodes record
// batches as their records are picked. It has no notion of the fold or of fetching.
//
// Its files, in the order in which to read them:
//
//	merge.go    merging the inputs by timestamp
//	batches.go  decoding record batches one at a time into reused memory
package merge
