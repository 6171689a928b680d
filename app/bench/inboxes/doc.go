// Package inboxes has the bench inbox: users in few of many partitions, which two nodes without
// brokers share.
//
//	inboxes.go  what is measured
//	spread.go   the two nodes and their partitions
package inboxes
