// Package keys is how the records of a store are named, and what one adds to the digest.
//
//	keys.go    keys, hashes of records and their sum
//	kinds.go   the kinds of records by name
package keys
