// Package batches encodes records into record batches, the bytes in which a produce request carries
// them. It is pure: it sends nothing and has no clock.
//
// Its files, in the order in which to read them:
//
//	batch.go  a record batch from the first record to its checksum
//	split.go  halves of a batch that a broker takes for too large
package batches
