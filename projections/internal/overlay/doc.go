// Package overlay holds written records that are not in the database yet.
//
//	overlay.go   the records, found by key and by channel
//	written.go   writing records, with the digests that they change
package overlay
