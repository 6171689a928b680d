// Package opening decides where the fold of a partition begins, and up to where it publishes
// nothing, from the position of its store and the state of the cluster.
package opening
