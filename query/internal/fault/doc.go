// Package fault has the errors that callers of the query services get: a code, a sentence that
// names the way out, and what only the log is to say.
//
//	fault.go   the errors by code, and what becomes of an error of another node
//	ids.go     ids that are missing or malformed
package fault
