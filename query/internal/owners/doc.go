// Package owners finds out which nodes answer for which partitions, and which partitions need not
// be asked about a user.
//
//	about.go   what a call asks about
//	owners.go  the partitions of all nodes
//	here.go    those of this node, of which only some know a user
package owners
