// Package keys has the keys of a store's records, and the digest over the records.
//
//	keys.go    keys, hashes of records and their sum
//	kinds.go   the kinds of records by name
package keys
