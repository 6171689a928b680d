// Package owners finds the nodes that answer for each partition, and the partitions that need not
// be called about a user.
//
//	about.go   the subject of a call
//	owners.go  the partitions of all nodes
//	here.go    the partitions of this node, of which only some have a user
package owners
