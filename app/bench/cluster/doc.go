// Package cluster has the bench node: nodes in processes of their own, which it kills, restores and
// stops under a steady load. Its files, in reading order:
//
//	moments.go  what a node's log says about its partitions, and when
//	process.go  a node: its start, its end, its memory
//	cluster.go  the topics, the load, and up to two nodes
//	dies.go     a node is killed, and restored
//	moves.go    partitions move between two nodes
//	bench.go    the bench, and the memory of a node
package cluster
