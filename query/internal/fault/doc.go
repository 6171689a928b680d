// Package fault has the errors of the query services: a code, a sentence with the way out, and a
// cause for the log only.
//
//	fault.go   the errors by code, and converting errors of other nodes
//	ids.go     ids that are missing or malformed
package fault
