// Package receipts gathers who has read, got or viewed messages of a channel, until a frame tells
// it.
package receipts
