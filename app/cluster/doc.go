// Package cluster describes all nodes of a group, for the page: who owns which partition, in which
// state it is, and what it needs.
//
// Each node reports itself at PathSelf. A node that is asked for the whole group gets its members
// from Kafka and asks each of them at the URL that it advertises, as a node (package peer). A member
// that does not answer is listed with the reason.
//
//	report.go   what a node reports of itself
//	handler.go  serves it
//	ask.go      asks all nodes
//
// A report has numbers and addresses, no ids of users or channels, as /metrics and /readyz do.
package cluster
