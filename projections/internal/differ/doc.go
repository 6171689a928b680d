// Package differ finds the records in which two stores differ. It handles keys and bytes, and has no
// notion of what readers see.
//
//	differ.go   channels with differing records
package differ
