// Package overlay holds records that were written and are not in the database yet.
//
//	overlay.go   the records, found by key and by channel
//	written.go   how they are written, with the digests that they change
package overlay
