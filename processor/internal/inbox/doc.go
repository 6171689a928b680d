// Package inbox is the only way into a partition's goroutine: records, orders and outcomes for it
// go through here.
package inbox
