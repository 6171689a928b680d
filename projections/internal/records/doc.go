// Package records encodes and decodes the stored records of a pair. docs/formats.md describes them
// byte by byte.
//
//	row_record.go    a row, and a follow
//	settings_record.go a user's settings of a channel
//	with_threads_record.go   reads of a channel with its threads
//	pair_record.go   waiting events, memberships, and where messages turn large and small
package records
