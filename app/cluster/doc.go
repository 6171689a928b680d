// Package cluster describes all nodes of a group for the page: the owner of each partition, its
// state, and its memory and disk.
//
// Each node reports itself at PathSelf. A node that describes the whole group gets its members from
// Kafka and queries each at the URL that it advertises, as a node (package peer). A member that
// does not answer is listed with the reason.
//
//	report.go   the report of a node
//	handler.go  serves the report
//	ask.go      queries all nodes
//	others.go   finds nodes that are no members
//
// Nodes that fold nothing, such as gateways, are no members of the group. They are asked at the
// addresses that Others returns (--nodes).
//
// A report has numbers and addresses, but no ids of users or channels, like /metrics and /readyz.
package cluster
