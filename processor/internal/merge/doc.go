// Package merge puts the three inputs of one partition into the order in which they are folded: the
// earliest timestamp first. It holds what is fetched and not folded yet, decodes undecoded record
// batches as their records are picked, and knows neither the fold nor who fetches.
//
// Its files, in the order in which to read them:
//
//	merge.go    records come in by input, and go out by timestamp
//	batches.go  record batches, decoded one at a time into memory that is reused
package merge
