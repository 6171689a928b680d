// Package inbox is the only way into a partition's goroutine. Records, orders and outcomes for it
// go through an Inbox.
package inbox
