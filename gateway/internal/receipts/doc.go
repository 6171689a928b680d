// Package receipts collects the reads, deliveries and views of a channel's messages until the next
// frame.
package receipts
